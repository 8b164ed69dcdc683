import { enclaveOf, type OpenWay } from '../pages/playground/open-way.ts';
import type { Way } from '../pages/playground/playground-search.ts';
import { askCommand, readStanding } from './ask-command.ts';

/** Sends content to the command, which sends it on by this way. */
export const commandWay = (way: Way): OpenWay => ({
  send: (path, body, signal) =>
    askCommand(`/v1${path}`, {
      method: 'POST',
      body: JSON.stringify(way === 'e2ee' ? sealed(body) : body),
      signal,
    }),
  async vouched(answer) {
    const { gateway, enclaves } = await readStanding(new AbortController().signal);
    // The broker states the tier of an answer, so it says nothing about one whose content was not encrypted.
    return { gateway, enclave: way === 'e2ee' ? enclaveOf(answer, enclaves) : undefined };
  },
});

/** The command encrypts a chat whose policy asks for it. */
const sealed = (body: { readonly provider?: object }): object => ({
  ...body,
  provider: { ...body.provider, minimum_privacy: 'e2ee' },
});
