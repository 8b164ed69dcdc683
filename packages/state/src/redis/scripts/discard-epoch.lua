-- Ends an epoch that is older than one that was open.
-- args epoch

if redis.call('HGET', KEYS[1], 'id') ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1])
return 1
