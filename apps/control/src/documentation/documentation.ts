import { buildDocument, documentationContracts } from '@sotto/contract';
import { confidentialOrigin } from '@sotto/contract/confidential';
import { controlOrigin } from '@sotto/contract/control';
import { PublicAnswer, publicCache } from '@sotto/server';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Domain } from '../domain.ts';
import type { ApiDocument } from './described-route.ts';
import { readDocuments } from './documents.ts';
import { type Addresses, markdownPath, publicFiles, serverPath } from './public-files.ts';

/** The documentation of this deployment, for programs. */
export interface Documentation extends Domain {
  /** Answers a `GET` of one of its files. Returns whether it did. */
  answer(request: FastifyRequest, reply: FastifyReply): boolean;
}

/** Opens the documentation: its files, and the server that answers questions about it. */
export function openDocumentation(addresses: Addresses): Documentation {
  const documents = readDocuments();
  const files = publicFiles(documents, addresses);
  const answers = new Map<string, PublicAnswer>();
  const prepared = (path: string, file: string): PublicAnswer => {
    const answer = answers.get(path) ?? new PublicAnswer(file, { mediaType: 'text/markdown' });
    answers.set(path, answer);
    return answer;
  };
  const described: Record<string, ApiDocument> = {};
  const origins = {
    control: () => (described.control ??= buildDocument(controlOrigin) as unknown as ApiDocument),
    confidential: () => (described.confidential ??= buildDocument(confidentialOrigin) as unknown as ApiDocument),
  };
  return {
    answer(request, reply) {
      const path = request.url.split('?', 1)[0] ?? '';
      const file = files.get(path);
      if (file === undefined || (request.method !== 'GET' && request.method !== 'HEAD')) return false;
      void prepared(path, file).send(request, reply.headers(publicCache));
      return true;
    },
    register({ serve }) {
      // The library of the protocol is loaded with the first question: most deployments are never asked one.
      let asking: Promise<(request: Request, body: unknown) => Promise<Response>> | undefined;
      const open = async () => {
        const { openMcp } = await import('./mcp-server.ts');
        return openMcp({ documents, markdownOf: (path) => files.get(markdownPath(path)), origins });
      };
      serve(documentationContracts)({
        'POST /v1/docs/mcp': async ({ request, reply, body }) => {
          asking ??= open();
          const ask = await asking;
          const answer = await ask(questionOf(request, addresses), body);
          const text = messageOf(await answer.text());
          reply.code(answer.status);
          return text === '' ? reply.send() : reply.type('application/json; charset=utf-8').send(text);
        },
      });
    },
  };
}

/** The message of an answer. Clients of earlier versions of the protocol would get it as a stream of one event. */
const messageOf = (text: string): string => /^data: (.*)$/m.exec(text)?.[1] ?? text;

/** Headers of the protocol. No other header of the caller is passed on. */
const ofProtocol = /^mcp-[a-z-]+$/;

function questionOf({ headers }: FastifyRequest, { controlOrigin: origin }: Addresses): Request {
  const own = Object.entries(headers).filter(([name, value]) => typeof value === 'string' && ofProtocol.test(name));
  return new Request(`${origin}${serverPath}`, {
    method: 'POST',
    headers: {
      ...(Object.fromEntries(own) as Record<string, string>),
      'content-type': 'application/json',
      // What the caller can read is of no concern: the answer is small and comes whole.
      accept: 'application/json, text/event-stream',
    },
  });
}
