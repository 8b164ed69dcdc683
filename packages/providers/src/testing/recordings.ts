import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A recorded provider answer: `NAME.json` is a whole body, `NAME.chunks.txt` a stream with one payload a line. */
export interface Recording {
  readonly name: string;
  readonly whole: string;
  readonly events: readonly string[];
}

const folder = join(import.meta.dirname, 'recordings');

/** The project's own recordings of the OpenAI shape: made-up conversations. Those of other APIs are named for them. */
export function ownRecordings(): Recording[] {
  const names = readdirSync(folder).filter((file) => /^own-(?!anthropic|google|bedrock|cohere).*\.json$/.test(file));
  return names.map((file) => {
    const name = file.slice(0, -'.json'.length);
    const events = readFileSync(join(folder, `${name}.chunks.txt`), 'utf8')
      .trimEnd()
      .split('\n');
    return { name, whole: readFileSync(join(folder, file), 'utf8'), events };
  });
}
