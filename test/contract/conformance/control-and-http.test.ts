import { describeConformance } from '../../kit/conformance.ts';
import { account } from './account.ts';
import { badInput } from './bad-input.ts';
import { catalog } from './catalog.ts';
import { credentials } from './credentials.ts';
import { keys } from './keys.ts';
import { knownMistakes } from './known-mistakes.ts';
import { pages } from './pages.ts';
import { paths } from './paths.ts';
import { sessions } from './sessions.ts';
import { tickets } from './tickets.ts';

await describeConformance(
  'credentials, accounts and HTTP',
  [catalog, tickets, credentials, sessions, keys, account, paths, pages, badInput, knownMistakes],
  { accounts: 7 },
);
