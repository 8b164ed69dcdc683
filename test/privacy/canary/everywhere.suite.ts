import { confidentialOrigin } from '@sotto/contract/confidential';
import { controlOrigin } from '@sotto/contract/control';
import { describe, expect, it } from 'vitest';
import { type Answer, readAnswer } from '../../kit/answer.ts';
import { bearer } from '../../kit/client.ts';
import { expectNoContent } from './expect-no-content.ts';
import { content } from './markers.ts';
import type { StageOf } from './stage.ts';

const { Malformed: bad, Path: inPath, QueryString: inQuery, Header: inHeader } = content;

/** Names of fields that some route takes, each with a value that is invalid for all of them. */
const wrongFields = Object.fromEntries(
  [
    ...['model', 'models', 'messages', 'input', 'prompt', 'provider', 'stream', 'tools', 'voice', 'size', 'nonce'],
    ...['name', 'email', 'password', 'newPassword', 'token', 'code', 'kind', 'role', 'package_id', 'rail'],
    ...['preferences', 'workspace_id', 'decision', 'redirect_uris', 'auto_top_up', 'id', bad],
  ].map((name) => [name, `${bad} <${bad}>`]),
);
const bodies: readonly string[] = [
  JSON.stringify(wrongFields),
  JSON.stringify(Object.fromEntries(Object.keys(wrongFields).map((name) => [name, { [bad]: [bad] }]))),
  `{"model": "m/one", "${bad}": ${bad}`,
];

/** Every route of both planes, with markers in its path, its query, its headers and its body. */
export function everywhereSuite(stage: StageOf): void {
  describe('no sink holds markers that were sent to', () => {
    it.each([
      ['the control plane', controlOrigin],
      ['the broker', confidentialOrigin],
    ] as const)('any route of %s, in any part of the request', async (_, origin) => {
      const { service, account } = stage();
      const url = origin === controlOrigin ? service.controlUrl : service.baseUrl;
      expect(origin.routes.length).toBeGreaterThan(8);
      for (const { method, path } of origin.routes) {
        const address = `${new URL(url).origin}${path.replace(/\{\w+\}/g, inPath)}?${inQuery}=${inQuery}`;
        const calls = [bearer(account.inferenceKey), bearer(account.managementKey), bearer(bad)].flatMap((credential) =>
          (method === 'get' ? [undefined] : bodies).map((body) =>
            stage().keep(send(address, { method, credential, body })),
          ),
        );
        await Promise.all(calls);
      }
      await expectNoContent(stage());
    });
  });
}

async function send(
  url: string,
  {
    method,
    credential,
    body,
  }: {
    readonly method: string;
    readonly credential: Readonly<Record<string, string>>;
    readonly body: string | undefined;
  },
): Promise<Answer> {
  const answer = await fetch(url, {
    method: method.toUpperCase(),
    redirect: 'manual',
    headers: {
      ...credential,
      cookie: `better-auth.session_token=${inHeader}; sotto=${inHeader}`,
      'user-agent': inHeader,
      'x-forwarded-for': inHeader,
      origin: `https://${inHeader}.example`,
      referer: `https://${inHeader}.example`,
      'x-router-ticket': inHeader,
      'x-router-receipt': inHeader,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body }),
  });
  return readAnswer(answer);
}
