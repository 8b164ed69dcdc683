import { describeConformance } from '../../contract/conformance/suite.ts';
import { apps } from './apps.suite.ts';
import { consent } from './consent.suite.ts';
import { fetchesNothing } from './fetches-nothing.suite.ts';
import { logout } from './logout.suite.ts';
import { protocol } from './protocol.suite.ts';
import { races } from './races.suite.ts';
import { refusals } from './refusals.suite.ts';
import { tokens } from './tokens.suite.ts';

const concepts = [protocol, refusals, tokens, apps, consent, logout, races, fetchesNothing];
await describeConformance('connected apps', concepts, {}, { CONNECTED_APPS: 'on' });
