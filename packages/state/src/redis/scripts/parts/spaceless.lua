-- For scripts that must work in a Redis that is out of memory. It refuses only the first write of a script, unless that
-- is a deletion. The settler needs this, because its work frees memory.
-- include names

local function spaceless() redis.call('HDEL', CLIENTS, 'none') end
