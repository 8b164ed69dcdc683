import type { FaultProxy, Weather } from '../../../kit/fault-proxy.ts';
import type { Rig } from '../rig.ts';
import { both, type Fault, type Outcome, refused, served } from './fault.ts';

const lossy: Weather = { delayMs: 30, lossPerMille: 50 };
const refusing: Weather = { refusing: true };
const partitioned: Weather = { partitioned: true };

type Lines = (rig: Rig) => readonly FaultProxy[];

export const weather = (linesOf: Lines, then: Weather, lastsMs: number) => ({
  lastsMs,
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

const silence = (linesOf: Lines) => ({
  lastsMs: 0,
  async begin(rig: Rig) {
    for (const line of linesOf(rig)) line.silence();
  },
  end: async () => {},
});

export const toRedis = ({ lines }: Rig) => [lines.brokerToRedis, lines.controlToRedis];
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
    ...weather(toRedis, lossy, 3000),
    ...both(...refused),
  },
  {
    name: 'the broker is cut off from Redis, and control is not',
    to: 'redis',
    ...weather(brokerToRedis, partitioned, 3000),
    ...both(...refused),
    ready: { broker: false, control: true },
  },
  {
    name: 'connections to Redis die without a word',
    to: 'redis',
    ...silence(toRedis),
    ...both(...refused),
  },
  {
    name: 'the network to Postgres loses and delays',
    to: 'postgres',
    ...weather(toPostgres, lossy, 3000),
    outcomes: { compatibility: served, ticket: refused },
  },
  {
    name: 'control is cut off from Postgres',
    to: 'postgres',
    ...weather(toPostgres, partitioned, 6000),
    outcomes: { compatibility: served, ticket: refused },
    ready: { broker: true, control: false },
  },
  {
    name: 'connections to Postgres die without a word',
    to: 'postgres',
    ...silence(toPostgres),
    outcomes: { compatibility: served, ticket: refused },
  },
  {
    name: 'the network to the providers loses and delays',
    to: 'providers',
    ...weather(toProviders, lossy, 3000),
    ...both(...noProvider),
  },
  {
    name: 'the first provider takes no connections',
    to: 'providers',
    ...weather(toFirst, refusing, 2000),
    ...both(...served, 'cut'),
  },
  {
    name: 'the broker is cut off from the first provider',
    to: 'providers',
    ...weather(toFirst, partitioned, 3000),
    ...both(...served, 'cut', '504 provider_timeout'),
  },
  {
    name: 'no provider takes connections',
    to: 'providers',
    ...weather(toProviders, refusing, 2000),
    ...both(...noProvider),
  },
];
