/**
 * Lua that checks the stored record of a key. The record is one string. It begins with 16 bytes for
 * each window of the plan that the key used last. Then come 17 bytes for each of these windows, and
 * the plan as in ARGV. If the key has a ban state or buckets of other plans, then `!`, the ban
 * state, `!` and these buckets follow.
 *
 * | part           | form                                                                               |
 * |----------------|------------------------------------------------------------------------------------|
 * | 16 bytes       | doubles: `taken` and `atMs` of the window's bucket; a full bucket is 0, 0          |
 * | 17 bytes       | doubles: `quota` and `windowMs`; a byte: the kind of its refill                    |
 * | ban state      | `refusedAtMs forgiven banEndMs banMs level forgetAtMs`, then each of `strikesAtMs` |
 * | another bucket | `name windowMs refill taken atMs;`                                                 |
 *
 * If a request has the same plan as the record, the script uses only the bytes, and neither parses
 * nor formats text. Each number is an integer below 2^53, which a double holds exactly. The script
 * never concatenates a number, because Lua would format only 14 of its digits.
 */
export const CHECK = /* lua */ `
-- The character after "=" in a plan stands for the number of its windows.
local function countOf(plan)
  return string.byte(plan, 2) - 48
end

-- Whether the first bytes of a record are those of count windows, with valid numbers.
local function isPacked(stored, bytes, count)
  if bytes ~= 33 * count then return false end
  for i = 1, count do
    local taken, at = struct.unpack('<dd', stored, 16 * i - 15)
    if not (taken >= 0 and taken < 2^53 and taken % 1 == 0) then return false end
    if not (at > -2^53 and at < 2^53 and at % 1 == 0) then return false end
  end
  return true
end
`;

/**
 * Lua that parses any record. It is needed if the record's plan differs from the request's, or if
 * the record has a ban state or buckets of other plans.
 */
export const PARSE = /* lua */ `
local function wholeNumbers(text)
  local list = {}
  for word in string.gmatch(text, '%S+') do
    local number = tonumber(word)
    if not number or number % 1 ~= 0 or math.abs(number) >= 2^53 then return nil end
    list[#list + 1] = number
  end
  return list
end

local function banOf(numbers)
  if not numbers or #numbers < 6 then return nil end
  return { refusedAt = numbers[1], forgiven = numbers[2], banEnd = numbers[3], banMs = numbers[4],
    level = numbers[5], forgetAt = numbers[6], strikes = { unpack(numbers, 7) } }
end

local function numbersOf(ban)
  return { ban.refusedAt, ban.forgiven, ban.banEnd, ban.banMs, ban.level, ban.forgetAt, unpack(ban.strikes) }
end

local function textOf(ban)
  local numbers = numbersOf(ban)
  return string.format(string.rep('%.0f ', #numbers), unpack(numbers))
end

-- Returns all buckets of a record and its ban state, or nil if the value is not a record.
local function parse(stored)
  local bytes, plan, rest = string.match(stored, '^(.*)(=[^=!]*)(!?[^=]*)$')
  if not plan or #plan < 4 or not isPacked(stored, #bytes, countOf(plan)) then return nil end
  local banText, others = '', ''
  if rest ~= '' then banText, others = string.match(rest, '^!([^!]*)!([^!]*)$') end
  local ban = banOf(wholeNumbers(banText or 'none'))
  if not ban and banText ~= '' then return nil end
  local buckets, count = {}, 0
  for id in string.gmatch(plan, '([^ ;|]+ %d+ %a+) %d+ %a+;') do
    count = count + 1
    local taken, at = 0, 0
    if count <= countOf(plan) then taken, at = struct.unpack('<dd', stored, 16 * count - 15) end
    if taken > 0 then table.insert(buckets, { id = id, taken = taken, at = at }) end
  end
  if count ~= countOf(plan) then return nil end
  for id, taken, at in string.gmatch(others, '([^ ;]+ %d+ %a+) (%d+) (%-?%d+);') do
    table.insert(buckets, { id = id, taken = tonumber(taken), at = tonumber(at) })
  end
  return buckets, ban
end

-- Packs the windows of a plan with the numbers of its buckets. Also returns the other buckets, or nil.
local function pack(plan, buckets)
  local states, policies = '', ''
  for id, ms, refill, quota, align in string.gmatch(plan, '([^ ;|]+ (%d+) (%a+)) (%d+) (%a+);') do
    local taken, at = 0, 0
    for i, bucket in ipairs(buckets) do
      if bucket.id == id then
        taken, at = bucket.taken, bucket.at
        table.remove(buckets, i)
        break
      end
    end
    states = states .. struct.pack('<dd', taken, at)
    local kind = refill == 'continuous' and CONTINUOUS or align == 'utc' and ALIGNED or 0
    policies = policies .. struct.pack('<ddB', quota, ms, kind)
  end
  return states .. policies, #buckets > 0 and buckets or nil
end
`;

/**
 * Lua that reads the stored record, or deletes a stored value that is not a record. It sets
 * `packed`, which begins with the bytes of `count` windows. It sets `ban` to the ban state and
 * `others` to the buckets of other plans. Both are nil if the record ends with the plan of this
 * request, because they are stored after the plan.
 */
export const READ_RECORD = /* lua */ `
local stored = redis.pcall('GET', key)
if type(stored) == 'table' then
  if redis.call('TYPE', key).ok == 'string' then return stored end
  redis.call('DEL', key)
  stored = false
end

local packed, ban, others = stored, nil, nil
local count = countOf(plan)
local isKnown = stored and string.find(stored, plan, -#plan, true) and isPacked(stored, #stored - #plan, count)
if not isKnown then
  ${PARSE}
  local buckets
  if stored then buckets, ban = parse(stored) end
  if stored and not buckets then
    redis.call('DEL', key)
    stored = false
  end
  packed, others = pack(plan, buckets or {})
end
`;
