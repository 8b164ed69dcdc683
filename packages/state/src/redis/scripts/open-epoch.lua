-- Opens the caller's epoch. From now on, money moves.
-- include guard

local n, refused = guard('project')
if refused then return refused end
redis.call('HSET', KEYS[1], 'open', '1')
return {count()}
