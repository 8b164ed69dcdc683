-- Guarded, so that a broker whose settlement was lost does not see a watermark beyond its place.
-- include guard

local n, refused, epoch = guard('settle')
if refused then return refused end
return {n, redis.call('GET', P .. 'watermark') or '0-0', tonumber(epoch)}
