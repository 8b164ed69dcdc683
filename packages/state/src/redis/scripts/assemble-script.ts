import { lateMs, refusalsKeptMs } from '../../bounds.ts';
import { channels } from '../channels.ts';
import { luaFiles } from './lua-files.ts';

/** Values that our code states too, by their names in the files. */
const constants: Readonly<Record<string, string>> = {
  LATE_MS: String(lateMs),
  REFUSALS_MS: String(refusalsKeptMs),
  SETTLED_CHANNEL: `'${channels.settled}'`,
  JOINED_CHANNEL: `'${channels.joined}'`,
};

/** A script as Redis gets it, and the values that it takes. */
export interface Script {
  readonly lua: string;
  /** The number of values that it takes of each call, or of each request of a batch. */
  readonly takes: number;
  /** Whether it takes any number of values after these. */
  readonly takesMore: boolean;
}

/**
 * Returns the script of a step: the parts that its file includes, each once and after those that it includes itself, and then its own
 * text. The comment at the beginning of a file is not sent. Its last lines name the values that the script takes, in their order
 * (`-- args`), and the files of `parts/` (`-- include`).
 *
 * A script is one atomic step on one shard. `KEYS[1]` is the shard's epoch key, which routes the script in a cluster. The other names
 * have the same prefix and slot. Amounts are integers below 2^53. A script that includes `guard` is a step of a member: ARGV begins
 * with client, epoch, acked and lease until (`membership/membership.ts`), and the reply with the number of the caller's steps, which
 * is negative if this step was one. A refused step returns `refused`, the reason and the shard's epoch.
 */
export function assembleScript(step: string): Script {
  const name = step.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  const texts = new Map<string, string>();
  const include = (file: string): string => {
    const text = luaFiles[file];
    if (text === undefined) throw new Error(`the script ${name} includes ${file}.lua, which does not exist`);
    const [header = ''] = /^(?:--.*\n)*/.exec(text) ?? [];
    for (const part of /^-- include (.+)$/m.exec(header)?.[1]?.split(' ') ?? []) include(`parts/${part}`);
    texts.set(file, text.slice(header.length));
    return header;
  };
  // An argument list may take several lines.
  const header = include(name).replace(/\n-- (?!args|include)/g, ' ');
  const [fixed = '', more] = (/^-- args (.+)$/m.exec(header)?.[1] ?? '').split(/,? ?\bthen\b/);
  return {
    lua: [...texts.values()]
      .join('')
      .replace(/\b(?:LATE_MS|REFUSALS_MS|SETTLED_CHANNEL|JOINED_CHANNEL)\b/g, (constant) => constants[constant] ?? ''),
    takes: fixed === '' ? 0 : fixed.split(' ').length,
    takesMore: more !== undefined,
  };
}
