-- Some whose lead was ready had left no address. Now they have, and nobody has told them anything.
UPDATE bt.lead SET email = 'lead' || id || '@example.invalid' WHERE status = 'options_ready' AND email IS NULL;
