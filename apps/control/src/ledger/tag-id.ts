import { hash } from 'node:crypto';

/** Returns the id of a workspace's tag, a UUID. It takes the place of the word in references to accounts and in the ledger. */
export const tagIdOf = (workspaceId: string, tag: string | null): string | undefined =>
  tag === null
    ? undefined
    : hash('sha256', ['sotto tag', workspaceId, tag].join(' '))
        .slice(0, 32)
        .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
