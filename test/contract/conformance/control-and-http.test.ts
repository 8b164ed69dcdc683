import { account } from './account.ts';
import { badInput } from './bad-input.ts';
import { catalog } from './catalog.ts';
import { credentials } from './credentials.ts';
import { pages } from './pages.ts';
import { paths } from './paths.ts';
import { sessions } from './sessions.ts';
import { describeConformance } from './suite.ts';
import { tickets } from './tickets.ts';

await describeConformance(
  'credentials, accounts and HTTP',
  [catalog, tickets, credentials, sessions, account, paths, pages, badInput],
  { accounts: 8 },
);
