import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { drawCharge, leftOfGrant, type MonthlyGrant } from './draw-charge.ts';

const grant = (month: string, amountNusd: bigint, spentNusd = 0n, expiredNusd = 0n): MonthlyGrant => ({
  ...{ month, amountNusd, spentNusd, expiredNusd },
});
const draw = (balanceNusd: bigint, grants: readonly MonthlyGrant[], chargeNusd: bigint, month = '2026-11') =>
  drawCharge({ balanceNusd, grants }, { chargeNusd, month });

describe('a charge', () => {
  it('is paid from the balance of an account without grants', () => {
    expect(draw(10n, [], 4n)).toEqual({ paidNusd: 4n, restoredNusd: 0n, shortfallNusd: 0n, grants: [] });
    expect(draw(10n, [], 14n)).toEqual({ paidNusd: 10n, restoredNusd: 0n, shortfallNusd: 4n, grants: [] });
  });

  it('draws on the grant of its month before money that was paid in', () => {
    const drawn = draw(110n, [grant('2026-11', 10n)], 15n);
    expect(drawn).toMatchObject({ paidNusd: 15n, grants: [grant('2026-11', 10n, 10n)] });
  });

  it('that is late takes back what has expired, and leaves the grant of the next month alone', () => {
    const drawn = draw(10n, [grant('2026-10', 10n, 2n, 8n), grant('2026-11', 10n)], 5n, '2026-10');
    expect(drawn).toEqual({
      ...{ paidNusd: 0n, restoredNusd: 5n, shortfallNusd: 0n },
      grants: [grant('2026-10', 10n, 7n, 3n), grant('2026-11', 10n)],
    });
  });

  it('beyond its own grant uses up older grants first', () => {
    const drawn = draw(13n, [grant('2026-10', 10n, 7n), grant('2026-11', 10n)], 12n);
    expect(drawn.grants).toEqual([grant('2026-10', 10n, 9n), grant('2026-11', 10n, 10n)]);
  });

  it('of the new month that was admitted before an expiry takes back what has expired', () => {
    const drawn = draw(10n, [grant('2026-10', 10n, 0n, 10n), grant('2026-11', 10n)], 15n);
    expect(drawn).toEqual({
      ...{ paidNusd: 10n, restoredNusd: 5n, shortfallNusd: 0n },
      grants: [grant('2026-10', 10n, 5n, 5n), grant('2026-11', 10n, 10n)],
    });
  });

  it('uses the rest of its own grant before what has expired of it', () => {
    const drawn = draw(6n, [grant('2026-11', 10n, 0n, 4n)], 5n);
    expect(drawn).toMatchObject({ paidNusd: 5n, restoredNusd: 0n, grants: [grant('2026-11', 10n, 5n, 4n)] });
  });

  it('uses older grants before newer ones, and takes back what has expired last first', () => {
    const [first, second] = [grant('2026-09', 5n), grant('2026-10', 5n)];
    expect(draw(10n, [first, second], 6n).grants).toEqual([grant('2026-09', 5n, 5n), grant('2026-10', 5n, 1n)]);
    const gone = [grant('2026-09', 5n, 0n, 5n), grant('2026-10', 5n, 0n, 5n)];
    expect(draw(0n, gone, 6n).grants).toEqual([grant('2026-09', 5n, 1n, 4n), grant('2026-10', 5n, 5n, 0n)]);
  });

  it('takes no more than the balance, also where grants say that more is left, which the audit would report', () => {
    expect(draw(3n, [grant('2026-11', 5n)], 4n)).toMatchObject({ paidNusd: 3n, shortfallNusd: 1n });
    expect(draw(3n, [grant('2026-10', 5n)], 4n).grants).toEqual([grant('2026-10', 5n, 3n)]);
  });

  it('is paid to the nano-dollar, and never leaves less balance than what is left of grants', () => {
    const amount = fc.bigInt(0n, 40n);
    const made = fc.tuple(amount, amount, amount).map(([left, spent, expired]) => ({
      amountNusd: left + spent + expired,
      spentNusd: spent,
      expiredNusd: expired,
    }));
    fc.assert(
      fc.property(fc.array(made, { maxLength: 4 }), amount, amount, fc.nat(4), (parts, bought, chargeNusd, at) => {
        const grants = parts.map((part, month) => ({ month: `2026-0${month + 1}`, ...part }));
        const left = grants.reduce((sum, each) => sum + leftOfGrant(each), 0n);
        const balanceNusd = left + bought;
        const drawn = draw(balanceNusd, grants, chargeNusd, `2026-0${at + 1}`);
        expect(drawn.paidNusd + drawn.restoredNusd + drawn.shortfallNusd).toBe(chargeNusd);
        const expired = (of: readonly MonthlyGrant[]) => of.reduce((sum, each) => sum + each.expiredNusd, 0n);
        expect(expired(grants) - expired(drawn.grants)).toBe(drawn.restoredNusd);
        for (const each of drawn.grants) {
          expect(each.spentNusd >= 0n && each.expiredNusd >= 0n && leftOfGrant(each) >= 0n).toBe(true);
        }
        const leftAfter = drawn.grants.reduce((sum, each) => sum + leftOfGrant(each), 0n);
        expect(balanceNusd - drawn.paidNusd >= leftAfter).toBe(true);
        // A shortfall only if neither balance nor anything expired remains.
        if (drawn.shortfallNusd > 0n) {
          expect(balanceNusd - drawn.paidNusd).toBe(0n);
          expect(expired(drawn.grants)).toBe(0n);
        }
      }),
    );
  });
});
