-- Notes money that is about to leave a wallet without a request, so that no request spends it meanwhile. `balance` is
-- the ledger's. With 'alone', the script refuses if anything else is held or unbooked. `book` or `forget` ends the
-- note. The note counts at the key `-`, which no projection has.
-- args noteId walletId amount balance alone
-- include guard notes

local n, refused, epoch = guard('admit')
if refused then return refused end
local w = redis.call('HMGET', wallet_key(ARGV[6]), 'funds', 'held', 'unbooked')
if not w[1] then return {n, 'not_projected', 0} end
local taken = tonumber(w[2] or 0) + tonumber(w[3] or 0)
if ARGV[9] == 'alone' and taken > 0 then return {n, 'busy', 0} end
if math.min(tonumber(w[1]), tonumber(ARGV[8])) - taken < tonumber(ARGV[7]) then return {n, 'insufficient', 0} end
place_note(ARGV[5], ARGV[6], '-', ARGV[7])
return {count(), 'reserved', tonumber(epoch)}
