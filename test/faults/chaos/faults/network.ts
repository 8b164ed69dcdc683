import type { FaultProxy, Weather } from '../../../kit/fault-proxy.ts';
import type { Rig } from '../rig.ts';
import { type Fault, type Outcome, refused, served } from './fault.ts';

const lossy: Weather = { delayMs: 30, lossPerMille: 50 };
const refusing: Weather = { refusing: true };
const partitioned: Weather = { partitioned: true };

const weather = (linesOf: (rig: Rig) => readonly FaultProxy[], then: Weather) => ({
  async begin(rig: Rig) {
    for (const line of linesOf(rig)) {
      line.weather(then);
      if (then.refusing) line.cut();
    }
  },
  async end(rig: Rig) {
    for (const line of linesOf(rig)) line.weather({});
  },
});

const toRedis = ({ lines }: Rig) => [lines.brokerToRedis, lines.controlToRedis];
const brokerToRedis = ({ lines }: Rig) => [lines.brokerToRedis];
const toPostgres = ({ lines }: Rig) => [lines.controlToPostgres];
const toFirst = ({ lines }: Rig) => [lines.toProviders[0]];
const toProviders = ({ lines }: Rig) => lines.toProviders;

const noProvider: readonly Outcome[] = [
  'answered',
  'cut',
  '502 provider_error',
  '503 provider_fallback_exhausted',
  '504 provider_timeout',
];

export const networkFaults: readonly Fault[] = [
  {
    name: 'the network to Redis loses and delays',
    to: 'redis',
    lastsMs: 3000,
    ...weather(toRedis, lossy),
    outcomes: { compat: refused, ticket: refused },
  },
  {
    name: 'the broker is cut off from Redis, and control is not',
    to: 'redis',
    lastsMs: 3000,
    ...weather(brokerToRedis, partitioned),
    outcomes: { compat: refused, ticket: refused },
    ready: { broker: false, control: true },
  },
  {
    name: 'connections to Redis die without a word',
    to: 'redis',
    lastsMs: 0,
    async begin(rig) {
      for (const line of toRedis(rig)) line.silence();
    },
    end: async () => {},
    outcomes: { compat: refused, ticket: refused },
  },
  {
    name: 'the network to Postgres loses and delays',
    to: 'postgres',
    lastsMs: 3000,
    ...weather(toPostgres, lossy),
    outcomes: { compat: served, ticket: refused },
  },
  {
    name: 'control is cut off from Postgres',
    to: 'postgres',
    lastsMs: 6000,
    ...weather(toPostgres, partitioned),
    outcomes: { compat: served, ticket: refused },
    ready: { broker: true, control: false },
  },
  {
    name: 'connections to Postgres die without a word',
    to: 'postgres',
    lastsMs: 0,
    async begin({ lines }) {
      lines.controlToPostgres.silence();
    },
    end: async () => {},
    outcomes: { compat: served, ticket: refused },
  },
  {
    name: 'the network to the providers loses and delays',
    to: 'providers',
    lastsMs: 3000,
    ...weather(toProviders, lossy),
    outcomes: { compat: noProvider, ticket: noProvider },
  },
  {
    name: 'the first provider takes no connections',
    to: 'providers',
    lastsMs: 2000,
    ...weather(toFirst, refusing),
    outcomes: { compat: [...served, 'cut'], ticket: [...served, 'cut'] },
  },
  {
    name: 'the broker is cut off from the first provider',
    to: 'providers',
    lastsMs: 3000,
    ...weather(toFirst, partitioned),
    outcomes: {
      compat: [...served, 'cut', '504 provider_timeout'],
      ticket: [...served, 'cut', '504 provider_timeout'],
    },
  },
  {
    name: 'no provider takes connections',
    to: 'providers',
    lastsMs: 2000,
    ...weather(toProviders, refusing),
    outcomes: { compat: noProvider, ticket: noProvider },
  },
];
