-- One row: the counters of the registry.
CREATE TABLE registry (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    -- Revision of the last write.
    revision INTEGER NOT NULL,
    last_session INTEGER NOT NULL,
    -- Deletions up to this revision may be missing in `gone`.
    forgotten INTEGER NOT NULL
) STRICT;

-- The nodes. The root is the row with an empty parent and an empty name.
CREATE TABLE node (
    parent TEXT NOT NULL,
    name TEXT NOT NULL,
    data BLOB NOT NULL,
    version INTEGER NOT NULL,
    created INTEGER NOT NULL,
    modified INTEGER NOT NULL,
    owner INTEGER,
    PRIMARY KEY (parent, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX node_by_revision ON node (modified);
CREATE INDEX node_by_owner ON node (owner) WHERE owner IS NOT NULL;

-- The last deletion of each path. Feeds read it, and old rows are removed.
CREATE TABLE gone (
    path TEXT PRIMARY KEY,
    revision INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX gone_by_revision ON gone (revision);

-- The live sessions. A session whose `beat` stands still for `timeout_ms` is over. `process` names
-- the process, so that another one on the same host can see that it has ended.
CREATE TABLE session (
    id INTEGER PRIMARY KEY,
    beat INTEGER NOT NULL,
    timeout_ms INTEGER NOT NULL,
    process TEXT NOT NULL
) STRICT;

-- The sessions of each file have numbers of their own, so that nodes and guards never name a session
-- of a former file in the same place.
INSERT INTO registry VALUES (1, 0, abs(random() % (1 << 38)), 0);
INSERT INTO node VALUES ('', '', x'', 0, 0, 0, NULL);
