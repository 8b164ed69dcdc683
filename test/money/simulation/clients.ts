import { type Right, sealAccountRef, shownGeneration, signSettlement, type ToldSettlement } from '@sotto/state';
import { firstGeneration, type Ground, macKey, mostPending, type Request, refKey, shard } from './ground.ts';
import { Broken } from './rules.ts';

export function mint(ground: Ground): void {
  const key = ground.random.pick(ground.ledger.keys);
  if (key === undefined) return;
  const hash = ground.name('ticket');
  ground.controls[0]?.state
    .mint({
      ...{ shard, ticketHashes: [hash], walletId: key.account.walletId, keyHash: key.keyHash },
      ...{ generation: firstGeneration, form: 2, ttlMs: 300_000 },
    })
    .then(
      ({ result }) => {
        if (result === 'minted') ground.tickets.push({ hash, key, uses: 0 });
      },
      () => {},
    );
}

export function clientAsks(ground: Ground): void {
  const broker = ground.random.pick(ground.brokers);
  const ticket = ground.random.chance(0.5) ? ground.random.pick(ground.tickets.slice(-20)) : undefined;
  const key = ticket?.key ?? ground.random.pick(ground.ledger.keys);
  if (broker === undefined || key === undefined) return;
  const right: Right =
    ticket === undefined ? { kind: 'key', keyHash: key.keyHash } : { kind: 'ticket', ticketHash: ticket.hash };
  const { accountId } = key.account;
  const accountRef = sealAccountRef(refKey, { accountId, workspaceId: accountId, keyId: key.keyId });
  const request: Request = {
    ...{ holdId: ground.name('hold'), broker, key, amountNusd: BigInt(ground.random.below(150)) },
    ...{ accountRef, state: 'asking', chargeNusd: 0n },
    ...{ excused: false, accepted: false, isLost: false, month: '' },
  };
  ground.requests.set(request.holdId, request);
  if (broker.book.size >= mostPending) ground.note('redeem not asked');
  broker.book
    .redeem({
      ...{ shard, right, holdId: request.holdId, amountNusd: request.amountNusd },
      ...(ticket === undefined
        ? { generation: shownGeneration(key.account.walletId, key.keyHash, firstGeneration) }
        : {}),
      ...{ estimatedTokens: 1, accountRef },
    })
    .then(
      (reply) => {
        const { result } = reply;
        if (result === 'admitted') request.month = reply.month;
        ground.note(result === 'insufficient' && reply.scope === 'budget' ? 'redeem over budget' : `redeem ${result}`);
        request.state = result === 'admitted' ? 'running' : 'refused';
        if (result !== 'admitted') return;
        ground.open.add(request);
        if (ground.dirty) request.excused = true;
        if (ticket === undefined || ground.dirty) return;
        ticket.uses += 1;
        if (ticket.uses > 1) throw new Broken('a ticket was used twice');
      },
      () => {
        request.state = 'refused';
      },
    )
    .catch((error: unknown) => ground.network.defects.push(error));
}

/** Ends a request: some charge, some release, some end before any attempt. */
export function end(ground: Ground, request: Request | undefined): void {
  if (request === undefined || request.state !== 'running') return;
  request.state = 'ended';
  const charged = ground.random.chance(0.7);
  request.chargeNusd = charged ? BigInt(ground.random.below(Number(request.amountNusd) + 1)) : 0n;
  const entry = ground.random.chance(0.9) || charged ? signSettlement(macKey, settlementOf(request)) : undefined;
  request.broker.book
    .settle({ shard, holdId: request.holdId, chargeNusd: request.chargeNusd, usedTokens: 1, entry })
    .then(
      () => {
        request.accepted = true;
      },
      () => {},
    );
}

function settlementOf(request: Request): ToldSettlement {
  const isCharge = request.chargeNusd > 0n;
  return {
    v: 1,
    id: isCharge ? request.holdId : `${request.holdId}-released`,
    kind: isCharge ? 'charge' : 'release',
    accountRef: request.accountRef,
    chargeNusd: request.chargeNusd.toString(),
    ...{ at: 0, operation: 'chat', model: 'acme/small', provider: 'acme', privacyClass: 'private' },
    ...{ promptTokens: 1, cachedTokens: 0, completionTokens: 1, reasoningTokens: 0, attempts: 1, fallback: false },
    ...{ status: 'completed', estimated: false, month: request.month },
  };
}
