import { describeConformance } from '../../kit/conformance.ts';
import { chatBody } from './chat-body.ts';
import { embeddings } from './embeddings.ts';
import { lenientBodies } from './lenient-bodies.ts';
import { providerAnswers } from './provider-answers.ts';
import { reasoning } from './reasoning.ts';
import { responseHeaders } from './response-headers.ts';
import { selection } from './selection.ts';
import { streaming } from './streaming.ts';
import { unlisted } from './unlisted.ts';

await describeConformance(
  'inference',
  [chatBody, lenientBodies, providerAnswers, reasoning, streaming, responseHeaders, embeddings, selection, unlisted],
  { accounts: 1 },
);
