-- A run that was to continue a session is of that one, also where it failed before the agent named it.
UPDATE runs SET chat = coalesce(session, resumed_from, run_id);
