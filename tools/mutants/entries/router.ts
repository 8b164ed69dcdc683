import { readFileSync } from 'node:fs';
import { type Mutant, mutantsAt, mutantsOfRows } from '../mutant.ts';

const source = (file: string): string => readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8');

const failover = 'packages/router/src/health/failover.ts';
const failoverRow = /^ {2}(\w+): row\((true|false), '(route|provider|none)', '(\w+)', '(\w+)'/gm;
const failoverPlace = { file: failover, tests: ['packages/router/src/health/failover.test.ts'] } as const;
const flip = (value: string | undefined): string => (value === 'true' ? 'false' : 'true');
const otherPenalty = { route: 'provider', provider: 'none', none: 'route' } as const;

const outcomes = 'packages/router/src/health/failover.ts';
const eligibility = {
  folder: 'eligibility',
  file: 'packages/router/src/plan/eligibility.ts',
  tests: ['packages/router/src/plan/eligibility.test.ts', 'packages/router/src/plan/decisions.test.ts'],
} as const;
const merge = {
  folder: 'merge',
  file: 'packages/router/src/policy/merge-policy.ts',
  tests: ['packages/router/src/policy/merge-policy.test.ts', 'packages/router/src/plan/decisions.test.ts'],
} as const;
const penalty = {
  folder: 'penalty',
  file: 'packages/router/src/health/penalty.ts',
  tests: ['packages/router/src/health/penalty.test.ts'],
} as const;
const looser = {
  folder: 'looser',
  file: 'packages/router/src/policy/permits-all-of.ts',
  tests: ['packages/router/src/policy/permits-all-of.test.ts'],
} as const;
const policy = {
  folder: 'policy',
  file: 'packages/router/src/policy/request-policy.ts',
  tests: ['packages/router/src/policy/request-policy.test.ts'],
} as const;
const parameters = {
  folder: 'parameters',
  file: 'packages/router/src/parameters/route-parameters.ts',
  tests: [
    'packages/router/src/parameters/route-parameters.test.ts',
    'packages/router/src/parameters/parameters-guide.test.ts',
  ],
} as const;
const narrow = {
  folder: 'narrow',
  file: 'packages/router/src/plan/narrow-preferences.ts',
  tests: ['packages/router/src/plan/narrow-preferences.test.ts'],
} as const;

/** What decides where a request goes. */
export const routerMutants: readonly Mutant[] = [
  ...mutantsOfRows(
    { ...failoverPlace, folder: 'failover-next' },
    {
      text: source(failover),
      pattern: failoverRow,
      change: ([row = '', name = '', next]) => [name, row.replace(`(${next},`, `(${flip(next)},`)],
    },
  ),
  ...mutantsOfRows(
    { ...failoverPlace, folder: 'failover-penalty' },
    {
      text: source(failover),
      pattern: failoverRow,
      change: ([row = '', name = '', , scope]) => [
        name,
        row.replace(`'${scope}'`, `'${otherPenalty[scope as keyof typeof otherPenalty]}'`),
      ],
    },
  ),
  ...mutantsOfRows(
    { ...failoverPlace, folder: 'failover-error' },
    {
      text: source(failover),
      pattern: failoverRow,
      change: ([row = '', name = '', , , error]) => [
        name,
        row.replace(`'${error}'`, error === 'provider_error' ? "'invalid_request'" : "'provider_error'"),
      ],
    },
  ),
  ...mutantsOfRows(
    { ...failoverPlace, folder: 'failover-retry' },
    {
      text: source(failover),
      pattern: failoverRow,
      change: ([row = '', name = '', , , , retry]) => [
        name,
        row.replace(`'${retry}'`, retry === 'helps' ? "'in_vain'" : "'helps'"),
      ],
    },
  ),
  ...mutantsOfRows(
    { folder: 'status', file: outcomes, tests: failoverPlace.tests },
    {
      text: source(outcomes),
      pattern: /case (\d+):\n {6}return '(\w+)';/g,
      change: ([row = '', status = '', outcome]) => [
        status,
        row.replace(`'${outcome}'`, outcome === 'server_error' ? "'timeout'" : "'server_error'"),
      ],
    },
  ),
  ...mutantsAt(eligibility, [
    ['boundary', 'if (facts.strength < boundary) return 0;', 'if (facts.strength <= boundary) return 0;'],
    ['no-boundary', 'if (facts.strength < boundary) return 0;', ''],
    ['encryption', 'if ((facts.strength === e2ee) !== needs.encrypted) return 1;', ''],
    ['floor', 'if (facts.strength < floor) return 2;', ''],
    ['floor-equal', 'if (facts.strength < floor) return 2;', 'if (facts.strength <= floor) return 2;'],
    ['only', 'if (only !== undefined && !isNamed(only, facts)) return 3;', ''],
    ['ignore', 'if (isNamed(ignore, facts) || allow', 'if (allow'],
    ['allow', '|| allow?.includes(facts.provider) === false) return 4;', ') return 4;'],
    ['offers', '(facts.offers & offers) !== offers || ', ''],
    ['effort', ' || !knowsEffort(facts.route, needs)) return 5;', ') return 5;'],
    ['parameters', 'if (policy.requireParameters && lackedParameters(facts.route, needs).length > 0) return 6;', ''],
    ['price-input', 'facts.input > maxPrice.input || ', ''],
    ['price-output', ' || facts.output > maxPrice.output) return 7;', ') return 7;'],
    ['price-equal', 'facts.input > maxPrice.input', 'facts.input >= maxPrice.input'],
    ['tiers', '!areTiersWithin(facts.route.price, maxPrice, needs) ? 7 : passesAll', 'false ? 7 : passesAll'],
    ['regions', 'entry === provider || entry === baseProvider', 'entry === provider'],
    [
      'furthest',
      'furthest = Math.max(furthest, firstFailing(route, demands))',
      'furthest = firstFailing(route, demands)',
    ],
  ]),
  ...mutantsAt(merge, [
    ['suffix', 'request.suffixSort ?? (request.unset', '(request.unset'],
    ['unset-sort', 'request.unset ? preferences.provider_sort : ', ''],
    ['minimum', 'strongest(boundary, preferences.provider_minimum_privacy, stated)', 'strongest(boundary, stated)'],
    [
      'boundary',
      'strongest(boundary, preferences.provider_minimum_privacy, stated)',
      'stated ?? preferences.provider_minimum_privacy',
    ],
    [
      'stated',
      'strongest(boundary, preferences.provider_minimum_privacy, stated)',
      'strongest(boundary, preferences.provider_minimum_privacy)',
    ],
    ['carried-price', "sort === 'price' || sort === 'latency'", "sort === 'latency'"],
    ['carried-latency', "sort === 'latency' || sort", 'sort'],
    ['carried-throughput', " || sort === 'throughput') && stated", ') && stated'],
    ['carried-stated', '&& stated === undefined;', ';'],
    [
      'fallbacks-workspace',
      'preferences.provider_allow_fallbacks && request.allow_fallbacks !== false',
      'request.allow_fallbacks !== false',
    ],
    [
      'fallbacks-request',
      'preferences.provider_allow_fallbacks && request.allow_fallbacks !== false',
      'preferences.provider_allow_fallbacks',
    ],
    ['ignore-workspace', '[...preferences.provider_ignore, ...(request.ignore ?? [])]', 'request.ignore ?? []'],
    ['ignore-request', '[...preferences.provider_ignore, ...(request.ignore ?? [])]', 'preferences.provider_ignore'],
    ['attempts', 'Math.min(preferences.provider_max_attempts, request.max_attempts ?? 3)', 'request.max_attempts ?? 3'],
    [
      'attempts-request',
      'Math.min(preferences.provider_max_attempts, request.max_attempts ?? 3)',
      'preferences.provider_max_attempts',
    ],
    ['fallback-floor', 'strongest(preferences.fallback_floor, boundary)', 'preferences.fallback_floor'],
    [
      'price-input',
      'Math.min(ceiling(preferences.max_price?.input), ceiling(request.max_price?.input))',
      'ceiling(request.max_price?.input)',
    ],
    [
      'price-output',
      'Math.min(ceiling(preferences.max_price?.output), ceiling(request.max_price?.output))',
      'ceiling(preferences.max_price?.output)',
    ],
    ['require', 'requireParameters: request.require_parameters === true', 'requireParameters: false'],
    ['fine-price', 'Math.floor(usdPerMillion * 1e6)', 'Math.ceil(usdPerMillion * 1e6)'],
  ]),
  ...mutantsAt(penalty, [
    ['first', 'firstMs: 30_000', 'firstMs: 31_000'],
    ['most', 'maxMs: 300_000', 'maxMs: 600_000'],
    ['reset', 'resetMs: 600_000', 'resetMs: 300_000'],
    ['clock', 'Math.abs(failure.now - current.lastStrikeAt)', '(failure.now - current.lastStrikeAt)'],
    ['earlier', 'if (counts && failure.startedAt < current.lastStrikeAt) return current;', ''],
    ['count', 'counts ? current.strikes + 1 : 1', '1'],
    ['doubles', '2 ** Math.min(strikes - 1, 10)', '2'],
    ['none', "if (scope === 'none') return undefined;", ''],
    ['provider', "scope === 'provider' ? `provider:${route.providerId}` : `route:${route.id}`", '`route:${route.id}`'],
    ['expired', 'leftMs > 0 && leftMs', 'leftMs'],
    ['too-long', 'leftMs > 0 && leftMs <= 2 * penaltyRules.maxMs', 'leftMs > 0'],
    ['of-route', 'active(`route:${route.id}`) ||', 'false ||'],
    ['of-provider', 'active(`provider:${route.providerId}`) ||', 'false ||'],
    ['of-base', 'active(`provider:${baseProviderId(route.providerId)}`)', 'false'],
  ]),
  ...mutantsAt(looser, [
    ['fallbacks', 'after.provider_allow_fallbacks || !before.provider_allow_fallbacks', 'true'],
    ['attempts', 'after.provider_max_attempts >= before.provider_max_attempts', 'true'],
    ['minimum', 'isWeakerOrEqual(after.provider_minimum_privacy, before.provider_minimum_privacy)', 'true'],
    ['sort', "provider_sort: equalIn('provider_sort')", 'provider_sort: () => true'],
    ['ignore', "provider_ignore: equalIn('provider_ignore')", 'provider_ignore: () => true'],
    [
      'boundary',
      'isWeakerOrEqual(boundaryClass[after.privacy_boundary], boundaryClass[before.privacy_boundary])',
      'true',
    ],
    ['no-floor', 'before === after || (before !== null', 'before === null || before === after || (before !== null'],
    ['floor', 'isWeakerOrEqual(after, before)),', 'true),'],
    ['auto', "auto: equalIn('auto')", 'auto: () => true'],
    ['price', "max_price: equalIn('max_price')", 'max_price: () => true'],
  ]),
  ...mutantsAt(policy, [
    ['pin', '{ only: [provider], allow_fallbacks: false }', '{ only: [provider] }'],
    ['own-sort', "isOwn ? (policy.sort ?? 'privacy') : null", "policy.sort ?? 'privacy'"],
    ['order', 'policy.order === undefined || policy.order.length === 0 ? null : policy.order', 'null'],
    ['only', 'unordered(policy.only) ?? null', 'null'],
    ['ignore', 'unordered(policy.ignore) ?? null', 'null'],
    ['attempts', 'fallsBack ? (policy.max_attempts ?? mostAttempts) : 1', '1'],
    ['minimum', 'policy.minimum_privacy ?? null', 'null'],
    ['price', '[policy.max_price?.input ?? null, policy.max_price?.output ?? null]', 'null'],
    ['require', 'policy.require_parameters ?? false', 'false'],
    [
      'conflict-only',
      'if (ignored(id) !== undefined) {\n      const message = `Provider \\`${id}\\` is in \\`only\\`',
      'if (false) {\n      const message = `Provider \\`${id}\\` is in \\`only\\`',
    ],
    [
      'conflict-order',
      'if (ignored(id) !== undefined) {\n      const message = `Provider \\`${id}\\` is in \\`order\\` and removed',
      'if (false) {\n      const message = `Provider \\`${id}\\` is in \\`order\\` and removed',
    ],
    ['suffix', 'policy.sort !== undefined && policy.sort !== suffixSort', 'false'],
    ['e2ee-request', " || (typeof provider === 'object' && provider?.minimum_privacy === 'e2ee')", ''],
    ['e2ee-workspace', " || minimum === 'e2ee'", ''],
  ]),
  ...mutantsAt(parameters, [
    ['tools', "case 'tools':\n      return capabilities.tools;", "case 'tools':\n      return true;"],
    ['choice', 'return capabilities.tools && listed;', 'return listed;'],
    ['schemas', 'return capabilities.structuredOutput;', 'return true;'],
    ['efforts', 'return (capabilities.reasoning?.efforts.length ?? 0) > 0;', 'return true;'],
    [
      'off',
      "if (reasoning.canDisable && (needs.reasoningDisabled || excludesReasoning(route, needs))) return 'off';",
      '',
    ],
    ['beside-tools', ' || excludesReasoning(route, needs))', ')'],
    ['crowded', "if (crowdedOut(route, needs).has('reasoning_effort')) return undefined;", ''],
    ['nearest', 'const effort = nearestEffort(asked, reasoning.efforts);', 'const effort = asked;'],
    ['enabled', 'return needs.reasoningEnabled ? { effort: undefined } : undefined;', 'return undefined;'],
  ]),
  ...mutantsAt(narrow, [
    ['promised', 'policy.statedMinimum, promised)', 'policy.statedMinimum)'],
    ['minimum', 'preferences.provider_minimum_privacy, policy.statedMinimum', 'policy.statedMinimum'],
    ['attempts', 'provider_max_attempts: policy.maxAttempts', 'provider_max_attempts: 3'],
    ['sort', "takesSort ? preferences.provider_sort : 'default'", "'default'"],
    ['ceilings', 'max_price: narrowCeilings(policy, scopes)', 'max_price: null'],
    ['floor', 'strongest(policy.fallbackFloor, minimum)', 'minimum'],
  ]),
];
