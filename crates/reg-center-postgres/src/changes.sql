-- The functions of feeds.

-- Returns the changes of some trees behind a revision of each, at one point in time: that of the
-- calling statement. Intermediate states are skipped. It is a function so that each connection
-- plans the query once, which takes longer than to execute it.
--
-- The rows by kind:
-- - o_tree IS NULL: whether the session lives, in o_flag.
-- - o_name IS NULL: the revision of a tree that has changed, and whether some of its changes behind
--   p_after were removed.
-- - Others: a node, the revision of its change, whether it exists, and then its columns.
CREATE FUNCTION {schema}.changes_after(
    p_ns int, p_session bigint, p_trees text[], p_after bigint[]
)
RETURNS TABLE (
    o_tree text, o_parent text, o_name text, o_revision bigint, o_flag boolean,
    n_parent text, n_name text, n_data bytea, n_version bigint, n_created bigint,
    n_modified bigint, n_owner bigint
)
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    RETURN QUERY
    WITH moved AS (
        SELECT t.id, t.name, t.revision, t.forgotten, a.revision AS after
        FROM unnest(p_trees, p_after) AS a (name, revision)
        JOIN {schema}.tree AS t ON t.ns = p_ns AND t.name = a.name
        WHERE t.revision > a.revision
    ), changed AS (
        SELECT m.name AS tree, c.parent, c.name, max(c.revision) AS revision
        FROM moved AS m JOIN {schema}.change AS c ON c.tree = m.id AND c.revision > m.after
        GROUP BY m.name, c.parent, c.name
    )
    -- The end of a session deletes its nodes. A feed that showed this before the end of the session
    -- would make its process believe that an operator has deleted them.
    SELECT NULL::text, NULL::text, NULL::text, 0::bigint,
        EXISTS (SELECT 1 FROM {schema}.session AS s WHERE s.id = p_session),
        NULL::text, NULL::text, NULL::bytea, NULL::bigint, NULL::bigint, NULL::bigint,
        NULL::bigint
    UNION ALL
    SELECT m.name, NULL, NULL, m.revision, m.forgotten > m.after,
        NULL, NULL, NULL, NULL, NULL, NULL, NULL
    FROM moved AS m
    UNION ALL
    SELECT c.tree, c.parent, c.name, c.revision, n.ns IS NOT NULL,
        n.parent, n.name, n.data, n.version, n.created, n.modified, n.owner
    FROM changed AS c
    LEFT JOIN {schema}.node AS n ON n.ns = p_ns AND n.parent = c.parent AND n.name = c.name;
END
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
