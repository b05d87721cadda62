-- Finds the effect behind an event: for "exists already", and when the event is deleted.
CREATE INDEX effects_provider ON effects (provider_id) WHERE provider_id IS NOT NULL;
