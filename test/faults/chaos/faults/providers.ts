import type { ProviderHandler } from '../../../kit/provider.ts';
import { rows } from '../../../kit/scenes/misbehave.ts';
import { type Script, scripted } from '../../../kit/scripted-provider.ts';
import type { Rig } from '../rig.ts';
import { both, type Fault, type Outcome, served } from './fault.ts';

const acts: Script[string][] = [
  { kind: 'silence' },
  { kind: 'break' },
  { kind: 'break', afterPieces: 0 },
  { kind: 'break', afterPieces: 3 },
];

/** Plays every failure of a provider, in turn. */
function misbehave(rig: Rig, at: 0 | 1): ProviderHandler {
  const provider = rig.providers[at];
  const id = at === 0 ? 'alpha' : 'beta';
  const wrong: ProviderHandler[] = [
    ...rows.map(({ does }) => does),
    ...acts.map(
      (act): ProviderHandler =>
        (request, response) => {
          const messages = [{ role: 'user', content: scripted({ [id]: act }) }];
          return provider.script({ ...request, body: { ...request.body, messages } }, response);
        },
    ),
  ];
  let turn = 0;
  return (request, response) => {
    const does = wrong[turn % wrong.length];
    turn += 1;
    return does?.(request, response);
  };
}

/** The outcomes of those failures if no other provider was tried, or if every provider failed. */
const everyRow: readonly Outcome[] = [
  'answered',
  'cut',
  '400 invalid_request',
  '429 rate_limited',
  '502 provider_error',
  '503 provider_fallback_exhausted',
  '504 provider_timeout',
];

export const providerFaults: readonly Fault[] = [
  {
    name: 'the first provider does everything wrong, by turns',
    to: 'providers',
    lastsMs: 3000,
    inOrder: true,
    async begin(rig) {
      rig.providers[0].answer(misbehave(rig, 0));
    },
    async end({ providers }) {
      providers[0].answer(providers[0].script);
    },
    // If the first provider rejects a request as invalid, the second is not asked. The second answers after every other
    // failure.
    ...both(...served, 'cut', '400 invalid_request', '504 provider_timeout'),
  },
  {
    name: 'both providers do everything wrong, by turns',
    to: 'providers',
    lastsMs: 3000,
    inOrder: true,
    async begin(rig) {
      for (const at of [0, 1] as const) rig.providers[at].answer(misbehave(rig, at));
    },
    async end({ providers }) {
      for (const provider of providers) provider.answer(provider.script);
    },
    ...both(...everyRow),
  },
];
