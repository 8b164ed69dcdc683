-- Removes a caller that leaves, so that rebuilds do not wait for it.
-- args now
-- include guard release-abandoned

local n, refused = guard('project')
if refused then return refused end
lapse(ARGV[1], now_ms(ARGV[5]))
local alive = {}
for client, f in pairs(read_clients()) do
  if not f.lapsed then alive[client] = true end
end
release_abandoned(alive)
return {0}
