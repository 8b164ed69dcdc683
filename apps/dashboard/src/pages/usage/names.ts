import type { KeyAnswer } from '@sotto/wire';
import type { UsageKind } from './usage-search.ts';

/** What the subjects of usage are called. */
export interface UsageNames {
  readonly nameOf: (subject: string | null, kind: UsageKind) => string;
}

/** Names by the keys there are; one that is none of them keeps the beginning of its id. */
export function namesOf(keys: readonly KeyAnswer[]): UsageNames {
  const keyNames = new Map(keys.map(({ id, name }) => [id, name]));
  return {
    nameOf: (subject, kind) => {
      if (subject === null) return 'No provider';
      return kind === 'key' ? (keyNames.get(subject) ?? `Key ${subject.slice(0, 8)}`) : subject;
    },
  };
}

export const kindNames: Readonly<Record<UsageKind, string>> = { model: 'Model', key: 'Key', provider: 'Provider' };
