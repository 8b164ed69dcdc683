import { WarmExchange } from '../conversations/warm-exchange.ts';
import { secureRandom } from '../e2ee/bytes.ts';
import type { Exchange } from '../private/private-exchange.ts';
import type { OpenService } from './open-service.ts';
import { readWord } from './settings.ts';

/** Options by which conversations stay with a provider, as `parseArgs` takes them. */
export const warmOptions = { 'warm-caches': { type: 'string' } } as const;

/** @param usual - The default of the command, in words. */
export const warmHelp = (
  usual: string,
): string => `  --warm-caches on|off  ask again for the provider that served a conversation before, whose cache has it. Control sees which
                       one you ask for. It stays within your policy and the same privacy tier (default: ${usual})`;

/** Reads `--warm-caches`. Throws a `UsageError` for another word than `on` and `off`. */
export const readWarmCaches = (word: string | undefined, usual: boolean): boolean =>
  word === undefined ? usual : readWord('--warm-caches', word, ['on', 'off']) === 'on';

/** Returns the exchange with warm caches, if they are on. */
export const withWarmCaches = (
  isOn: boolean,
  exchange: Exchange,
  { readEffective }: Pick<OpenService, 'readEffective'>,
): Exchange => (isOn ? new WarmExchange({ exchange, readEffective, now: Date.now, newSecret }) : exchange);

const newSecret = (): string => Buffer.from(secureRandom(16)).toString('base64url');
