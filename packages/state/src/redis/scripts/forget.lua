-- Drops the notes of charges without a known account.
-- args then holdIds
-- include guard notes spaceless

local n, refused = guard('project')
if refused then return refused end
spaceless()
drop_notes(ARGV, 5)
return {count()}
