/** How content is sent: by ticket to a verified machine, encrypted for the provider's enclave, or with the key. */
export const ways = ['private', 'e2ee', 'compatibility'] as const;
export type Way = (typeof ways)[number];

export const modes = ['chat', 'image', 'speech'] as const;
export type Mode = (typeof modes)[number];

/** The choices that the address of the playground keeps. Content is never part of it. */
export interface PlaygroundSearch {
  readonly mode?: Mode;
  readonly model?: string;
  readonly way?: Way;
  /** Another model that is asked the same. In a chat only. */
  readonly compare?: string | undefined;
}

export function readPlaygroundSearch(search: Readonly<Record<string, unknown>>): PlaygroundSearch {
  const mode = modes.find((one) => one === search.mode);
  const way = ways.find((one) => one === search.way);
  const [model, compare] = [idOf(search.model), idOf(search.compare)];
  return {
    ...(mode === undefined ? {} : { mode }),
    ...(model === undefined ? {} : { model }),
    ...(compare === undefined ? {} : { compare }),
    ...(way === undefined ? {} : { way }),
  };
}

const idOf = (asked: unknown): string | undefined =>
  typeof asked === 'string' && asked !== '' && asked.length <= 256 ? asked : undefined;

/** The choices after a change. Another mode has other models and ways, so it begins with its defaults. */
export const changed = (search: PlaygroundSearch, part: PlaygroundSearch): PlaygroundSearch =>
  part.mode === undefined ? { ...search, ...part } : part.mode === 'chat' ? {} : { mode: part.mode };
