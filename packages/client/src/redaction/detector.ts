import { asObject, type JsonObject } from '@sotto/wire';
import { findPeople, type NameLexicon } from './find-people.ts';
import type { Finding } from './finding.ts';

/** Finds the values in a text that are not to be sent. */
export type Detect = (text: string) => Promise<readonly Finding[]>;

/** Agents send the same texts again with each turn. Characters of texts whose findings are kept, at most. */
const maxKeptChars = 32 * 1024 * 1024;

/** Characters of the shortest value. */
const shortest = 4;

/**
 * Returns the detector. It loads its libraries when it is first used.
 *
 * @param known - Values that are always found: words of the user's own, and secrets of the environment.
 */
export function makeDetector(known: readonly Finding[]): Detect {
  const kept = new Map<string, readonly Finding[]>();
  let keptChars = 0;
  let loading: ReturnType<typeof load> | undefined;
  return async (text) => {
    if (text.length < shortest) return [];
    const before = kept.get(text);
    if (before !== undefined) return before;
    loading ??= load();
    const { findSecrets, lexicon } = await loading;
    const findings = [
      ...known.filter(({ value }) => text.includes(value)),
      ...(await findSecrets(text)),
      ...findPeople(text, lexicon),
    ];
    kept.set(text, findings);
    keptChars += text.length;
    for (const oldest of kept.keys()) {
      if (keptChars <= maxKeptChars) break;
      kept.delete(oldest);
      keptChars -= oldest.length;
    }
    return findings;
  };
}

async function load(): Promise<{ findSecrets: (text: string) => Promise<Finding[]>; lexicon: NameLexicon }> {
  const [{ findSecrets }, { default: compromise }] = await Promise.all([
    import('./find-secrets.ts'),
    import('compromise/two'),
  ]);
  const tags = asObject(asObject(asObject(compromise.model())?.one)?.lexicon);
  if (tags === undefined) throw new Error('compromise has no list of words where this version of it should have one');
  return { findSecrets, lexicon: lexiconOf(tags) };
}

/** Names by the word list of `compromise`, which leaves out those that are common words, such as May or Bill. */
function lexiconOf(tags: JsonObject): NameLexicon {
  const isOne = (word: string, names: readonly string[]): boolean =>
    Object.hasOwn(tags, word) && [tags[word]].flat().some((tag) => names.some((name) => name === tag));
  return { isFirst: (word) => isOne(word, first), isLast: (word) => isOne(word, last) };
}

const first = ['MaleName', 'FemaleName', 'FirstName', 'Person'];
const last = ['LastName'];
