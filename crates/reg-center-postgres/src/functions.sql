-- The functions of sessions and epochs. All functions that write run with the rights of their
-- owner, so that a program needs no right to write to the tables.

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

-- Returns the channel of the notifications of a registry.
CREATE FUNCTION {schema}.channel(p_ns int) RETURNS text
LANGUAGE sql STABLE
AS $$ SELECT 'ejob_' || '{schema}.namespace'::regclass::oid || '_' || p_ns $$;

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
    v_positions text;
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
    -- The server executes all commits that notify one after the other, so others notify later. The
    -- end of a session is rare, and its runs wait for another instance. An empty payload says that
    -- any tree may have changed.
    SELECT string_agg(v_revision || ' ' || t.name, E'\n') INTO v_positions
    FROM unnest(v_names) AS t (name);
    PERFORM pg_notify(
        channel(v_ns), CASE WHEN octet_length(v_positions) <= 7000 THEN v_positions ELSE '' END);
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
    o_channel := channel(o_ns);
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
