-- The functions of format 1. They run with the rights of their owner, so that a program needs no
-- right to write to the tables.

-- Returns the timeline of this server; fails on a standby.
-- The control file would name the old timeline for a while after a promotion.
CREATE FUNCTION {schema}.current_timeline() RETURNS int
LANGUAGE sql VOLATILE
AS $$ SELECT ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::int $$;

-- Returns true on the server and the timeline that a session was opened on.
-- Both stay the same while a process of the server lives, which remembers them in a setting: to
-- find them out takes longer than the rest of a small commit.
CREATE FUNCTION {schema}.is_current(p_system bigint, p_timeline int) RETURNS boolean
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    v_server text := current_setting('ejob.server', true);
BEGIN
    -- The setting is empty, not NULL, after the transaction that set it was rolled back.
    IF coalesce(v_server, '') = '' THEN
        v_server := format('%s/%s', (SELECT c.system_identifier FROM pg_control_system() AS c),
            {schema}.current_timeline());
        PERFORM set_config('ejob.server', v_server, false);
    END IF;
    RETURN v_server = format('%s/%s', p_system, p_timeline);
END
$$;

-- Returns the position of a registry: no revision in it is greater. Fails if the caller has seen a
-- greater one, because then revisions would be used twice.
CREATE FUNCTION {schema}.position_of(p_epoch bigint, p_newest bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    v_position bigint := (p_epoch << 40) + (SELECT s.last_value FROM {schema}.last_revision AS s);
BEGIN
    IF v_position < p_newest THEN
        RAISE EXCEPTION USING ERRCODE = 'EJ002', MESSAGE = format(
            'the registry is at revision %s, this program has seen revision %s: its data were '
            'restored or removed; begin a new epoch by SELECT {schema}.begin_epoch(%s)',
            v_position, p_newest, p_newest >> 40);
    END IF;
    RETURN v_position;
END
$$;

-- Creates the clocks of trees that have none. Runs in a transaction of its own, so that it waits
-- for other creators without holding any other lock.
CREATE FUNCTION {schema}.create_trees(p_ns int, p_names text[]) RETURNS void
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = {schema}, pg_temp
AS $$
    INSERT INTO tree (ns, name)
    SELECT p_ns, n.name FROM unnest(p_names) AS n(name) ORDER BY n.name COLLATE "C"
    ON CONFLICT DO NOTHING
$$;

-- Ends a session, if its beat still has this value or the value is negative. Deletes its nodes at
-- one revision. Returns the changed trees; NULL if the session did not end.
CREATE FUNCTION {schema}.end_session(p_session bigint, p_beat bigint) RETURNS text[]
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = {schema}, pg_temp
AS $$
DECLARE
    v_ns int;
    v_epoch bigint;
    v_ids bigint[];
    v_names text[];
    v_revision bigint;
    v_count bigint;
BEGIN
    -- Waits for a commit of the session. From then on no commit of it can begin.
    DELETE FROM session AS s WHERE s.id = p_session AND (p_beat < 0 OR s.beat = p_beat)
    RETURNING s.ns INTO v_ns;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    SELECT array_agg(t.id ORDER BY t.name), array_agg(t.name ORDER BY t.name)
    INTO v_ids, v_names
    FROM (
        SELECT k.id, k.name FROM tree AS k
        WHERE k.ns = v_ns AND k.name IN (
            SELECT split_part(n.parent || '/' || n.name, '/', CASE n.parent WHEN '/' THEN 3 ELSE 2 END)
            FROM node AS n WHERE n.owner = p_session
        )
        ORDER BY k.name FOR UPDATE
    ) AS t;
    IF v_ids IS NULL THEN
        RETURN '{}';
    END IF;
    SELECT n.epoch INTO v_epoch FROM namespace AS n WHERE n.id = v_ns;
    v_revision := (v_epoch << 40) + nextval('last_revision');
    WITH gone AS (DELETE FROM node AS n WHERE n.owner = p_session RETURNING n.parent, n.name)
    INSERT INTO change (tree, revision, parent, name)
    SELECT k.id, v_revision, g.parent, g.name
    FROM gone AS g JOIN tree AS k ON k.ns = v_ns AND k.name =
        split_part(g.parent || '/' || g.name, '/', CASE g.parent WHEN '/' THEN 3 ELSE 2 END);
    GET DIAGNOSTICS v_count = ROW_COUNT;
    UPDATE tree AS t SET revision = v_revision, n_changes = t.n_changes + v_count
    WHERE t.id = ANY (v_ids);
    RETURN v_names;
END
$$;

-- Ends all sessions of a registry, after its epoch was raised.
CREATE FUNCTION {schema}.end_sessions(p_ns int) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = {schema}, pg_temp
AS $$
BEGIN
    -- A commit locks its session before its trees. All commits end here, before the first session
    -- locks its trees.
    PERFORM s.id FROM session AS s WHERE s.ns = p_ns ORDER BY s.id FOR UPDATE;
    PERFORM end_session(s.id, -1) FROM session AS s WHERE s.ns = p_ns;
END
$$;

-- Begins a new epoch in all registries of the schema, also in those that are created later, which
-- is greater than p_after. All sessions end, and all later revisions and sessions are greater than
-- those of the former epochs. For the owner of the tables, after a backup was restored.
CREATE FUNCTION {schema}.begin_epoch(p_after bigint DEFAULT 0) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = {schema}, pg_temp
AS $$
BEGIN
    UPDATE format AS f SET first_epoch = greatest(f.first_epoch, p_after) + 1;
    UPDATE namespace AS n SET epoch = greatest(n.epoch, p_after) + 1;
    PERFORM end_sessions(n.id) FROM namespace AS n;
END
$$;

-- Opens a session in a registry, and creates the registry if it is missing. If the server is not
-- the one that has written the registry's epoch, a new epoch begins and all sessions end.
CREATE FUNCTION {schema}.open_session(
    p_name text, p_timeout_ms bigint, p_newest bigint,
    OUT o_ns int, OUT o_session bigint, OUT o_channel text, OUT o_position bigint
)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = {schema}, pg_temp
AS $$
DECLARE
    v_timeline int := current_timeline();
    v_system bigint := (SELECT c.system_identifier FROM pg_control_system() AS c);
    v_namespace namespace;
BEGIN
    SELECT * INTO v_namespace FROM namespace AS n WHERE n.name = p_name FOR UPDATE;
    IF NOT FOUND THEN
        INSERT INTO namespace (name, epoch, system, timeline)
        SELECT p_name, f.first_epoch, v_system, v_timeline FROM format AS f
        ON CONFLICT DO NOTHING;
        SELECT * INTO v_namespace FROM namespace AS n WHERE n.name = p_name FOR UPDATE;
        INSERT INTO node VALUES (v_namespace.id, '', '', '', 0, 0, 0, NULL) ON CONFLICT DO NOTHING;
    END IF;
    IF (v_namespace.system, v_namespace.timeline) <> (v_system, v_timeline) THEN
        -- Several promotions may lie between the two timelines. Each may have had an epoch whose
        -- row is lost.
        UPDATE namespace AS n
        SET epoch = n.epoch + greatest(1, v_timeline - n.timeline),
            system = v_system, timeline = v_timeline
        WHERE n.id = v_namespace.id RETURNING * INTO v_namespace;
        PERFORM end_sessions(v_namespace.id);
    END IF;
    o_position := position_of(v_namespace.epoch, p_newest);
    o_ns := v_namespace.id;
    o_session := (v_namespace.epoch << 40) + nextval('last_session');
    o_channel := 'ejob_' || 'namespace'::regclass::oid || '_' || o_ns;
    INSERT INTO session (id, ns, epoch, system, timeline, timeout_ms)
    VALUES (o_session, o_ns, v_namespace.epoch, v_system, v_timeline, p_timeout_ms);
END
$$;

-- Continues a session on a new connection. Waits for a commit of the former connection, which
-- cannot commit afterwards. Returns no row if the session is over.
CREATE FUNCTION {schema}.resume_session(p_session bigint, p_newest bigint)
RETURNS TABLE (o_incarnation bigint, o_seq bigint, o_revisions text, o_position bigint)
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = {schema}, pg_temp
AS $$
    UPDATE session AS s SET incarnation = s.incarnation + 1, beat = s.beat + 1
    WHERE s.id = p_session AND is_current(s.system, s.timeline)
    RETURNING s.incarnation, s.seq, array_to_string(s.revisions, ','),
        position_of(s.epoch, p_newest)
$$;

-- Raises the counter of a live session. Returns the position of the registry; NULL if the session
-- is over.
CREATE FUNCTION {schema}.beat(p_session bigint, p_incarnation bigint, p_newest bigint)
RETURNS bigint
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = {schema}, pg_temp
AS $$
    UPDATE session AS s SET beat = s.beat + 1
    WHERE s.id = p_session AND s.incarnation = p_incarnation AND is_current(s.system, s.timeline)
    RETURNING position_of(s.epoch, p_newest)
$$;

-- Removes old changes of one tree that has twice p_kept or more, p_kept at a time. Feeds that are
-- further behind start again. Returns true if there may be more to remove.
CREATE FUNCTION {schema}.forget_changes(p_ns int, p_kept bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = {schema}, pg_temp
AS $$
DECLARE
    v_tree tree;
    v_last bigint;
    v_until bigint;
BEGIN
    -- If another center removes changes of the tree, this one need not.
    SELECT * INTO v_tree FROM tree AS t WHERE t.ns = p_ns AND t.n_changes >= 2 * p_kept
    ORDER BY t.name LIMIT 1 FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    SELECT c.revision INTO v_last FROM change AS c
    WHERE c.tree = v_tree.id ORDER BY c.revision DESC OFFSET p_kept LIMIT 1;
    IF NOT FOUND THEN
        -- Conflicts have been counted as well.
        UPDATE tree AS t SET n_changes = p_kept WHERE t.id = v_tree.id;
        RETURN true;
    END IF;
    -- Index entries of removed rows need not be read.
    SELECT c.revision INTO v_until FROM change AS c
    WHERE c.tree = v_tree.id AND c.revision > v_tree.forgotten
    ORDER BY c.revision OFFSET p_kept LIMIT 1;
    v_until := least(v_last, v_until);
    DELETE FROM change AS c WHERE c.tree = v_tree.id AND c.revision <= v_until;
    UPDATE tree AS t
    SET forgotten = v_until, n_changes = CASE v_until WHEN v_last THEN p_kept ELSE t.n_changes END
    WHERE t.id = v_tree.id;
    RETURN true;
END
$$;

-- Executes transactions of a session, each as a whole or not at all.
--
-- p_trees are the sorted names of all trees that the transactions touch, p_ends the number of the
-- last operation of each transaction. For each operation: p_kinds (1 create, 2 create ephemeral,
-- 3 put, 4 delete, 5 check, 6 check absent), p_versions (expected version, or -1), p_tree (index in
-- p_trees), p_parents and p_names, and the end of its data in p_data.
--
-- The rows by kind:
-- - o_txn = 0: the session is over, and no other row follows.
-- - o_op = 0: a transaction, with its revision. If it failed: the number of the operation that
--   failed, from 1, and the reason.
-- - o_op > 0: the node that this operation has put. Without meaning if the transaction failed.
CREATE FUNCTION {schema}.commit_all(
    p_ns int, p_session bigint, p_incarnation bigint, p_newest bigint, p_seq bigint,
    p_trees text[], p_ends int[],
    p_kinds int[], p_versions bigint[], p_tree int[],
    p_parents text[], p_names text[], p_data bytea, p_data_ends int[]
)
RETURNS TABLE (
    o_txn int, o_op int, o_revision bigint, o_failed int, o_reason text,
    o_version bigint, o_created bigint, o_owner bigint
)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = {schema}, pg_temp
-- The statements are simple: planning them again would take longer than executing them.
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    v_epoch bigint;
    v_ids bigint[];
    v_revision bigint;
    v_revisions bigint[] := '{}';
    v_first int := 1;
    v_op int;
    v_parent text;
    v_name text;
    v_path text;
    v_above text;
    v_slash int;
    v_owner bigint;
    v_version bigint;
    v_created bigint;
    v_data bytea;
    v_start int := 0;
    v_reason text;
    v_found boolean;
    v_deleted text[];
    v_last bigint := 0;
    v_count bigint := 0;
    v_written bigint[] := '{}';
BEGIN
    -- Locks out the end of the session until the commit.
    SELECT s.epoch INTO v_epoch FROM session AS s
    WHERE s.id = p_session AND s.incarnation = p_incarnation AND is_current(s.system, s.timeline)
    FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        o_txn := 0;
        RETURN NEXT;
        RETURN;
    END IF;
    PERFORM position_of(v_epoch, p_newest);
    -- All callers lock in the order of names, so that they do not wait for each other in a circle.
    SELECT array_agg(t.id ORDER BY t.name) INTO v_ids FROM (
        SELECT k.id, k.name FROM tree AS k WHERE k.ns = p_ns AND k.name = ANY (p_trees)
        ORDER BY k.name FOR UPDATE
    ) AS t;
    IF coalesce(cardinality(v_ids), 0) <> cardinality(p_trees) THEN
        RAISE EXCEPTION 'the clock of a tree is missing';
    END IF;
    FOR v_txn IN 1 .. cardinality(p_ends) LOOP
        v_revision := NULL;
        v_op := v_first;
        o_txn := v_txn;
        o_failed := NULL;
        o_reason := NULL;
        v_deleted := '{}';
        BEGIN
            FOR i IN v_first .. p_ends[v_txn] LOOP
                v_op := i;
                v_parent := p_parents[i];
                v_name := p_names[i];
                IF p_kinds[i] <= 4 THEN
                    IF v_revision IS NULL THEN
                        v_revision := (v_epoch << 40) + nextval('last_revision');
                    END IF;
                    v_count := v_count + 1;
                    v_written := v_written || v_ids[p_tree[i]];
                    IF p_kinds[i] <> 4 THEN
                        INSERT INTO change
                        VALUES (v_ids[p_tree[i]], v_revision, v_parent, v_name);
                        v_data := substr(p_data, v_start + 1, p_data_ends[i] - v_start);
                    END IF;
                END IF;
                CASE p_kinds[i]
                WHEN 1, 2 THEN
                    v_reason := NULL;
                    PERFORM 1 FROM node AS n
                    WHERE n.ns = p_ns AND n.parent = v_parent AND n.name = v_name;
                    IF FOUND THEN
                        v_reason := 'exists';
                        RAISE EXCEPTION USING ERRCODE = 'EJ001';
                    END IF;
                    -- Climbs to the next node that exists. The root always exists.
                    v_path := v_parent;
                    WHILE v_path <> '/' LOOP
                        v_slash := length(v_path) - strpos(reverse(v_path), '/');
                        v_above := CASE v_slash WHEN 0 THEN '/' ELSE left(v_path, v_slash) END;
                        SELECT n.owner INTO v_owner FROM node AS n
                        WHERE n.ns = p_ns AND n.parent = v_above
                          AND n.name = substr(v_path, v_slash + 2);
                        IF FOUND THEN
                            IF v_owner IS NOT NULL THEN
                                v_reason := 'ephemeral parent';
                                RAISE EXCEPTION USING ERRCODE = 'EJ001';
                            END IF;
                            EXIT;
                        END IF;
                        INSERT INTO node
                        VALUES (p_ns, v_above, substr(v_path, v_slash + 2), '', 0, v_revision,
                                v_revision, NULL);
                        INSERT INTO change
                        VALUES (v_ids[p_tree[i]], v_revision, v_above, substr(v_path, v_slash + 2));
                        v_count := v_count + 1;
                        v_path := v_above;
                    END LOOP;
                    v_owner := CASE p_kinds[i] WHEN 2 THEN p_session END;
                    INSERT INTO node
                    VALUES (p_ns, v_parent, v_name, v_data, 0, v_revision, v_revision, v_owner);
                WHEN 3 THEN
                    -- The versions of the contract have 32 bits.
                    UPDATE node AS n
                    SET data = v_data, version = (n.version + 1) & 4294967295,
                        modified = v_revision
                    WHERE n.ns = p_ns AND n.parent = v_parent AND n.name = v_name
                      AND (p_versions[i] < 0 OR n.version = p_versions[i])
                    RETURNING n.version, n.created, n.owner INTO o_version, o_created, o_owner;
                    v_found := FOUND;
                    IF v_found THEN
                        o_op := i - v_first + 1;
                        o_revision := v_revision;
                        RETURN NEXT;
                    END IF;
                WHEN 4 THEN
                    v_path := CASE v_parent WHEN '/' THEN '/' ELSE v_parent || '/' END || v_name;
                    DELETE FROM node AS n
                    WHERE n.ns = p_ns AND n.parent = v_parent AND n.name = v_name
                      AND (p_versions[i] < 0 OR n.version = p_versions[i])
                      AND NOT EXISTS (
                          SELECT 1 FROM node AS c WHERE c.ns = p_ns AND c.parent = v_path)
                    RETURNING n.created INTO v_created;
                    v_found := FOUND;
                    IF v_found AND v_created = v_revision AND v_path <> ALL (v_deleted) THEN
                        -- Feeds never hear of a node that this transaction has created.
                        DELETE FROM change AS c
                        WHERE c.tree = v_ids[p_tree[i]] AND c.revision = v_revision
                          AND c.parent = v_parent AND c.name = v_name;
                    ELSIF v_found THEN
                        v_deleted := v_deleted || v_path;
                        INSERT INTO change
                        VALUES (v_ids[p_tree[i]], v_revision, v_parent, v_name);
                    END IF;
                WHEN 5 THEN
                    PERFORM 1 FROM node AS n
                    WHERE n.ns = p_ns AND n.parent = v_parent AND n.name = v_name
                      AND (p_versions[i] < 0 OR n.version = p_versions[i]);
                    v_found := FOUND;
                WHEN 6 THEN
                    PERFORM 1 FROM node AS n
                    WHERE n.ns = p_ns AND n.parent = v_parent AND n.name = v_name;
                    IF FOUND THEN
                        v_reason := 'exists';
                        RAISE EXCEPTION USING ERRCODE = 'EJ001';
                    END IF;
                END CASE;
                IF p_kinds[i] IN (3, 4, 5) AND NOT v_found THEN
                    SELECT n.version INTO v_version FROM node AS n
                    WHERE n.ns = p_ns AND n.parent = v_parent AND n.name = v_name;
                    v_reason := CASE
                        WHEN NOT FOUND THEN 'absent'
                        WHEN p_versions[i] >= 0 AND v_version <> p_versions[i] THEN 'version'
                        ELSE 'children' END;
                    RAISE EXCEPTION USING ERRCODE = 'EJ001';
                END IF;
                v_start := p_data_ends[i];
            END LOOP;
            v_last := coalesce(v_revision, v_last);
            v_revisions := v_revisions || coalesce(v_revision, 0);
        EXCEPTION WHEN SQLSTATE 'EJ001' THEN
            v_revisions := v_revisions || (-1)::bigint;
            v_revision := NULL;
            o_failed := v_op - v_first + 1;
            o_reason := v_reason;
        END;
        o_op := 0;
        o_revision := v_revision;
        RETURN NEXT;
        v_first := p_ends[v_txn] + 1;
        v_start := CASE WHEN p_ends[v_txn] > 0 THEN p_data_ends[p_ends[v_txn]] ELSE 0 END;
    END LOOP;
    IF v_last > 0 THEN
        -- A revision between the last write of each tree and the next one does as well.
        UPDATE tree AS t SET revision = v_last, n_changes = t.n_changes + v_count
        WHERE t.id = ANY (v_written);
        UPDATE session AS s SET seq = p_seq, revisions = v_revisions WHERE s.id = p_session;
    ELSE
        -- Nothing was written, so there is nothing to wait for on the disk.
        PERFORM set_config('synchronous_commit', 'off', true);
    END IF;
END
$$;

REVOKE ALL ON ALL TABLES IN SCHEMA {schema} FROM PUBLIC;
REVOKE ALL ON ALL SEQUENCES IN SCHEMA {schema} FROM PUBLIC;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA {schema} FROM PUBLIC;
