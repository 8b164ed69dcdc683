import { describe, expect, it } from 'vitest';
import { boot, pinned, verifyOf, zeros } from '../testing/provider-document.ts';
import { providerPinsSchema } from './provider-pins.ts';

const hash = 'cc'.repeat(32);

describe('a pin', () => {
  it.each<[string, string]>([
    ['mr_td=00', '`mr_td` must be 96 lower-case hex digits'],
    [`mr_td=${zeros},rtmr1=${zeros},rtmr2=${zeros},rtmr3=${zeros}`, '`rtmr0` is missing'],
    [boot, 'it must say what runs'],
    [`${boot},compose_hash=${hash}`, '`app_id` is missing'],
    [`${boot},compose_hash=${hash},app_id=${'aa'.repeat(20)}`, '`key_provider` is missing'],
    ...['04ab', 'kms:', 'tpm:', 'none:04ab', 'kms:04AB'].map((value): [string, string] => [
      `${pinned},key_provider=${value}`,
      '`key_provider` must be a kind and an id in lower-case hex',
    ]),
    [`measurement=${zeros}`, '`host_data` is missing'],
    [`host_data=${hash}`, '`measurement` is missing'],
    [`mrtd=${zeros}`, '`mrtd` is none of'],
    [`${pinned},rtmr3=${zeros}`, '`rtmr3` comes twice'],
    [`measurement=${zeros},mr_td=${zeros}`, 'of SEV-SNP, `mr_td` is of TDX'],
    ['', '`` is none of'],
  ])('%s is refused, and told why', (measurement, why) => {
    const parsed = providerPinsSchema.safeParse({ measurements: [measurement] });
    expect(parsed.error?.issues[0]?.message).toContain(why);
  });

  it('is one of a set', async () => {
    const others = [1, 2].map((digit) => pinned.replaceAll('00', `0${digit}`));
    const verdictUnder = async (measurements: string[]) =>
      (await verifyOf('venice, hashed nonce', {}, { pins: { measurements } })).verdict;
    expect(await verdictUnder([...others, pinned])).toBe('cryptographically_checked');
    expect(await verdictUnder(others)).toBe('untrusted');
  });
});
