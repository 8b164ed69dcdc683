import type { Redis } from 'ioredis';

/** The spending record of a wallet or a key, as `packages/money` defines it. */
export interface StoredSpend {
  readonly fundsNusd: bigint;
  readonly version: number;
  readonly heldNusd: bigint;
  readonly unbookedNusd: bigint;
}
interface StoredKey extends StoredSpend {
  readonly limited: boolean;
  readonly generation: number;
  /** Undefined: no request may use the key. */
  readonly workspaceId: string | undefined;
}
interface StoredWorkspace {
  readonly version: number;
  readonly ticketsSince: number;
  readonly preferences: unknown;
  readonly isOff: boolean;
  readonly keys: number;
}
/** A budget, as the memory driver stores it. */
export interface StoredBudget {
  readonly limitNusd: bigint | undefined;
  readonly version: number;
  readonly months: Readonly<Record<string, { readonly spentNusd: bigint; readonly openNusd: bigint }>>;
}
interface StoredAmount {
  readonly walletId: string;
  readonly keyHash: string;
  readonly amountNusd: bigint;
  /** `-`: it counts in no budget. */
  readonly month: string;
  readonly budgetIds: readonly string[];
}

/** A shard as read from Redis. */
export interface StoredShard {
  readonly wallets: ReadonlyMap<string, StoredSpend>;
  readonly keys: ReadonlyMap<string, StoredKey>;
  readonly workspaces: ReadonlyMap<string, StoredWorkspace>;
  readonly tickets: ReadonlyMap<string, string>;
  readonly epoch: { readonly id: number; readonly isOpen: boolean } | undefined;
  /** The number of remembered steps of each process. */
  readonly members: ReadonlyMap<string, number>;
  readonly holds: ReadonlyMap<string, StoredAmount>;
  readonly notes: ReadonlyMap<string, StoredAmount>;
  readonly budgets: ReadonlyMap<string, StoredBudget>;
  readonly closed: readonly string[];
  readonly reaped: ReadonlyMap<string, Omit<StoredAmount, 'amountNusd'>>;
  /** The counts of refusals by hour. */
  readonly refusals: Readonly<Record<string, Readonly<Record<string, number>>>>;
  readonly stream: readonly string[];
}

const dumpScript = `
local found = {}
for _, key in ipairs(redis.call('KEYS', ARGV[1] .. '*')) do
  local type, value = redis.call('TYPE', key).ok, nil
  if type == 'string' then value = redis.call('GET', key)
  elseif type == 'hash' then value = redis.call('HGETALL', key)
  elseif type == 'stream' then
    value = {}
    for i, entry in ipairs(redis.call('XRANGE', key, '-', '+')) do value[i] = entry[2][2] end
  end
  found[#found + 1] = {string.sub(key, #ARGV[1] + 1), value}
end
return found
`;

/** Reads everything that a shard holds, in one step. Throws on a key whose name it does not know. */
export async function readShard(redis: Redis, prefix: string): Promise<StoredShard> {
  const rows = (await redis.eval(dumpScript, 0, prefix)) as [string, string | string[]][];
  const wallets = new Map<string, StoredSpend>();
  const keys = new Map<string, StoredKey>();
  const workspaces = new Map<string, StoredWorkspace>();
  const tickets = new Map<string, string>();
  let holds = new Map<string, StoredAmount>();
  let notes = new Map<string, StoredAmount>();
  let members = new Map<string, number>();
  const budgetFields = new Map<string, ReadonlyMap<string, string>>();
  let limits: ReadonlyMap<string, string> = new Map();
  let epoch: StoredShard['epoch'];
  const closed: string[] = [];
  const reaped = new Map<string, Omit<StoredAmount, 'amountNusd'>>();
  const refusals: Record<string, Record<string, number>> = {};
  let stream: string[] = [];
  for (const [name, value] of rows) {
    const [kind, id = ''] = splitOnce(name);
    if (kind === 'wallet') wallets.set(id, readSpend(hash(value)));
    else if (kind === 'key') keys.set(id, readKey(hash(value)));
    else if (kind === 'workspace') workspaces.set(id, readWorkspace(hash(value)));
    else if (kind === 'ticket') tickets.set(id, /^used:(\S+)/.exec(text(value))?.[1] ?? '');
    else if (kind === 'holds') holds = readAmounts(value, [4, 5, 1, 7]);
    else if (kind === 'notes') notes = readAmounts(value, [0, 1, 2, 3]);
    else if (kind === 'clients') members = readMembers(hash(value));
    else if (kind === 'epoch') epoch = { id: Number(hash(value).get('id')), isOpen: hash(value).get('open') === '1' };
    else if (kind === 'done') closed.push(id);
    else if (kind === 'budget') budgetFields.set(id, hash(value));
    else if (kind === 'limits') limits = hash(value);
    else if (kind === 'refusals') refusals[id] = readCounts(hash(value));
    else if (kind === 'reaped') reaped.set(id, readMark(text(value)));
    else if (kind === 'stream') stream = list(value);
    else if (!['watermark', 'index', 'declared'].includes(kind)) throw new Error(`unknown key ${name}`);
  }
  const budgets = new Map([...budgetFields].map(([id, fields]) => [id, readBudget(fields, limits.get(id))]));
  closed.sort();
  return {
    epoch,
    members,
    wallets,
    keys,
    workspaces,
    tickets,
    holds,
    notes,
    budgets,
    closed,
    reaped,
    refusals,
    stream,
  };
}

/** Converts to the form of the memory driver's `snapshotShard`. */
export function asSnapshot(shard: StoredShard): object {
  return {
    epoch: shard.epoch,
    members: Object.fromEntries(shard.members),
    wallets: Object.fromEntries(shard.wallets),
    keys: Object.fromEntries([...shard.keys].map(([id, { limited: _, ...key }]) => [id, key])),
    workspaces: Object.fromEntries(shard.workspaces),
    tickets: Object.fromEntries(shard.tickets),
    holds: Object.fromEntries(shard.holds),
    notes: Object.fromEntries(shard.notes),
    budgets: Object.fromEntries(shard.budgets),
    closed: shard.closed,
    reaped: Object.fromEntries(shard.reaped),
    refusals: shard.refusals,
    stream: shard.stream,
  };
}

const ageScript = `
for _, key in ipairs(redis.call('KEYS', '*')) do
  local left = redis.call('PTTL', key)
  if left >= 0 and left <= tonumber(ARGV[1]) then redis.call('DEL', key)
  elseif left >= 0 then redis.call('PEXPIRE', key, left - tonumber(ARGV[1])) end
end
`;

/**
 * Ages every key that expires by a jump of the injected clock. Redis expires keys by the real clock, so without this
 * its expiry would not take part in a history.
 */
export async function ageKeys(redis: Redis, byMs: number): Promise<void> {
  await redis.eval(ageScript, 0, byMs);
}

const readSpend = (fields: ReadonlyMap<string, string>): StoredSpend => ({
  fundsNusd: BigInt(fields.get('funds') ?? '0'),
  version: Number(fields.get('ver') ?? -1),
  heldNusd: BigInt(fields.get('held') ?? '0'),
  unbookedNusd: BigInt(fields.get('unbooked') ?? '0'),
});

const readKey = (fields: ReadonlyMap<string, string>): StoredKey => ({
  ...readSpend(fields),
  limited: (fields.get('funds') ?? '') !== '',
  generation: Number(fields.get('gen') ?? -1),
  workspaceId: fields.get('ws'),
});

function readWorkspace(fields: ReadonlyMap<string, string>): StoredWorkspace {
  const preferences = fields.get('pref');
  return {
    version: Number(fields.get('ver') ?? -1),
    ticketsSince: Number(fields.get('since') ?? -1),
    preferences: preferences === undefined ? undefined : JSON.parse(preferences),
    isOff: fields.has('off'),
    keys: Number(fields.get('n') ?? 0),
  };
}

function readBudget(fields: ReadonlyMap<string, string>, limit: string | undefined): StoredBudget {
  const nusd = (field: string): bigint => BigInt(fields.get(field) ?? '0');
  const names = new Set([...fields.keys()].flatMap((field) => field.split(' ').slice(1)));
  const months = [...names].map(
    (month) => [month, { spentNusd: nusd(`spent ${month}`), openNusd: nusd(`open ${month}`) }] as const,
  );
  return {
    limitNusd: limit === undefined ? undefined : BigInt(limit),
    version: Number(fields.get('ver') ?? -1),
    months: Object.fromEntries(months.filter(([, { spentNusd, openNusd }]) => spentNusd !== 0n || openNusd !== 0n)),
  };
}

const readCounts = (fields: ReadonlyMap<string, string>): Record<string, number> =>
  Object.fromEntries([...fields].map(([name, count]) => [name, Number(count)]));

/** Reads what is remembered of a reaped hold. */
const readMark = (mark: string): Omit<StoredAmount, 'amountNusd'> => {
  const [walletId = '', keyHash = '', month = '', ...budgetIds] = mark.split(' ');
  return { walletId, keyHash, month, budgetIds: budgetIds.filter((word) => word !== '') };
};

/** Reads amounts stored as words. `places` gives the positions of the wallet, the key, the amount and the month, which the budgets follow. */
const readAmounts = (
  value: string | string[],
  [wallet, key, amount, month]: readonly [number, number, number, number],
): Map<string, StoredAmount> =>
  new Map(
    [...hash(value)].map(([id, text]) => {
      const words = text.split(' ');
      return [
        id,
        {
          walletId: words[wallet] ?? '',
          keyHash: words[key] ?? '',
          amountNusd: BigInt(words[amount] ?? 'none'),
          month: words[month] ?? '',
          budgetIds: words.slice(month + 1).filter((word) => word !== ''),
        },
      ];
    }),
  );

const readMembers = (fields: ReadonlyMap<string, string>): Map<string, number> =>
  new Map([...fields].flatMap(([name, value]) => (name.endsWith(' n') ? [[name.slice(0, -2), Number(value)]] : [])));

function hash(value: string | string[]): ReadonlyMap<string, string> {
  const flat = list(value);
  return new Map(flat.flatMap((field, at) => (at % 2 === 0 ? [[field, flat[at + 1] ?? ''] as const] : [])));
}

const list = (value: string | string[]): string[] => (Array.isArray(value) ? value : []);
const text = (value: string | string[]): string => (Array.isArray(value) ? '' : value);

function splitOnce(name: string): [string, string | undefined] {
  const at = name.indexOf(':');
  return at < 0 ? [name, undefined] : [name.slice(0, at), name.slice(at + 1)];
}

/** Sums the held and the unbooked amounts of the wallets or keys that `isOf` selects. */
export function sumsOf(
  stored: StoredShard,
  isOf: (amount: { walletId: string; keyHash: string }) => boolean,
): { heldNusd: bigint; unbookedNusd: bigint } {
  const sum = (amounts: StoredShard['holds']): bigint =>
    [...amounts.values()].filter(isOf).reduce((total, { amountNusd }) => total + amountNusd, 0n);
  return { heldNusd: sum(stored.holds), unbookedNusd: sum(stored.notes) };
}
