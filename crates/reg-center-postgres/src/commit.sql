-- The functions of commits.

-- Creates the clocks of trees that have none. Runs in a transaction of its own, so that it waits
-- for other creators without holding any other lock.
CREATE FUNCTION {schema}.create_trees(p_ns int, p_names text[]) RETURNS void
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = {schema}, pg_temp
AS $$
    INSERT INTO tree (ns, name)
    SELECT p_ns, n.name FROM unnest(p_names) AS n(name) ORDER BY n.name COLLATE "C"
    ON CONFLICT DO NOTHING
$$;

-- Executes transactions of a session, each as a whole or not at all. The server evaluates them, in
-- place of `reg_center::evaluate`: that needs the nodes first, which is a second round trip under
-- the locks of the trees.
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
