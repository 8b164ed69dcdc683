/** Scripts without a shard: catalog, penalties and measurements. */

/** KEYS: the catalog hash. ARGV: version, snapshot. */
export const publishCatalogScript = `
local v = redis.call('HGET', KEYS[1], 'version')
if v and tonumber(v) >= tonumber(ARGV[1]) then return 0 end
redis.call('HSET', KEYS[1], 'version', ARGV[1], 'snapshot', ARGV[2])
return 1
`;

/** KEYS: the penalties hash. ARGV: field, expected value ('' for none), new value, seconds until all are forgotten. */
export const replaceFieldScript = `
local current = redis.call('HGET', KEYS[1], ARGV[1]) or ''
if current ~= ARGV[2] then return current end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
redis.call('EXPIRE', KEYS[1], ARGV[4])
return 1
`;

/**
 * KEYS: an hour of measurements. ARGV: seconds to keep it, most records, its name if it is new, then fields and records. Also
 * stores the order of changes, so that readers read only changed records.
 */
export const shareMeasurementsScript = `
local changes = KEYS[1] .. ':changes'
redis.call('HSETNX', KEYS[1], 'begun', ARGV[3])
local count = tonumber(redis.call('HGET', KEYS[1], 'count') or 0)
local records = redis.call('ZCARD', changes)
for at = 4, #ARGV, 2 do
  local isNew = redis.call('HEXISTS', KEYS[1], ARGV[at]) == 0
  if not isNew or records < tonumber(ARGV[2]) then
    if isNew then records = records + 1 end
    count = count + 1
    redis.call('HSET', KEYS[1], ARGV[at], ARGV[at + 1])
    redis.call('ZADD', changes, count, ARGV[at])
  end
end
redis.call('HSET', KEYS[1], 'count', count)
redis.call('EXPIRE', KEYS[1], ARGV[1])
redis.call('EXPIRE', changes, ARGV[1])
return 1
`;

/** KEYS: an hour of measurements. ARGV: its name and count as the caller knows them, most records to return. */
export const readMeasurementsScript = `
local begun = redis.call('HGET', KEYS[1], 'begun') or ''
local since = ARGV[2]
if begun ~= ARGV[1] or tonumber(since) > tonumber(redis.call('HGET', KEYS[1], 'count') or 0) then since = '0' end
local found = redis.call('ZRANGEBYSCORE', KEYS[1] .. ':changes', '(' .. since, '+inf', 'WITHSCORES', 'LIMIT', 0, ARGV[3])
local fields = {}
for at = 1, #found, 2 do
  fields[#fields + 1] = found[at]
  since = found[at + 1]
end
return {begun, since, fields, #fields > 0 and redis.call('HMGET', KEYS[1], unpack(fields)) or {}}
`;
