import { routerMutants } from './entries/router.ts';
import { wireMutants } from './entries/wire.ts';
import type { Mutant } from './mutant.ts';

export const mutants: readonly Mutant[] = [...wireMutants, ...routerMutants];
