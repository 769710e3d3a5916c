-- Format 1 of the registry's schema. `{schema}` is the quoted name of the schema.

-- One row: the format of this schema, and the epoch in which new registries begin.
CREATE TABLE {schema}.format (version int NOT NULL, first_epoch bigint NOT NULL);
INSERT INTO {schema}.format VALUES (1, 0);

CREATE SEQUENCE {schema}.last_revision;
CREATE SEQUENCE {schema}.last_session;
-- A random start: no session of a schema that was dropped is found in the next one of that name.
SELECT setval('{schema}.last_session', 1 + floor(random() * (1::bigint << 38))::bigint);

-- The registries in this schema. `epoch` grows when the server has lost commits or may have lost
-- them: with each promotion of a standby, with a move to another server, and by `begin_epoch`. It
-- is the high part of each revision and session, so that neither is used twice.
CREATE TABLE {schema}.namespace (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text COLLATE "C" NOT NULL UNIQUE,
    epoch bigint NOT NULL,
    -- Identity and timeline of the server that wrote `epoch`.
    system bigint NOT NULL,
    timeline int NOT NULL
);

-- The clock of each top-level node and all nodes below it. Its row lock orders their writes.
-- `name` is the top-level name; empty for the root node. Rows are updated in place, so no index
-- has a column that changes.
CREATE TABLE {schema}.tree (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    ns int NOT NULL,
    name text COLLATE "C" NOT NULL,
    -- Revision of the last write.
    revision bigint NOT NULL DEFAULT 0,
    -- Rows of `change` up to this revision were removed.
    forgotten bigint NOT NULL DEFAULT 0,
    n_changes bigint NOT NULL DEFAULT 0,
    UNIQUE (ns, name)
) WITH (fillfactor = 20);

-- The nodes. The root is the row with an empty parent and an empty name.
CREATE TABLE {schema}.node (
    ns int NOT NULL,
    parent text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    data bytea NOT NULL,
    version bigint NOT NULL,
    created bigint NOT NULL,
    modified bigint NOT NULL,
    owner bigint,
    PRIMARY KEY (ns, parent, name)
) WITH (fillfactor = 70);
CREATE INDEX node_by_owner ON {schema}.node (owner) WHERE owner IS NOT NULL;

-- The nodes that each write has changed. Feeds read the rows behind their position in a tree.
-- There is no gap: revisions are taken under the lock of the tree, which lasts until the commit.
CREATE TABLE {schema}.change (
    tree bigint NOT NULL,
    revision bigint NOT NULL,
    parent text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL
);
CREATE INDEX change_by_revision ON {schema}.change (tree, revision);

-- The live sessions. A session whose `beat` stands still for `timeout_ms` is over. A connection
-- writes only in the incarnation that it has begun, so that a connection that was given up cannot
-- write later. `seq` and `revisions` are the last call with a write and its outcomes.
CREATE TABLE {schema}.session (
    id bigint PRIMARY KEY,
    ns int NOT NULL,
    epoch bigint NOT NULL,
    -- Identity and timeline of the server that opened it: on another one the session is over.
    system bigint NOT NULL,
    timeline int NOT NULL,
    timeout_ms bigint NOT NULL,
    beat bigint NOT NULL DEFAULT 0,
    incarnation bigint NOT NULL DEFAULT 0,
    seq bigint NOT NULL DEFAULT 0,
    revisions bigint[] NOT NULL DEFAULT '{}'
) WITH (fillfactor = 20);
