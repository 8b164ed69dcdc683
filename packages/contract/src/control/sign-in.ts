import { emailContracts } from './email.ts';
import { passkeyContracts } from './passkeys.ts';
import { secondFactorContracts } from './second-factor.ts';
import { sessionContracts } from './sessions.ts';
import { methodContracts, openidContracts } from './sign-in-ways.ts';
import { userContracts } from './user.ts';

/** The routes of better-auth. */
export const signInContracts = {
  ...sessionContracts,
  ...methodContracts,
  ...emailContracts,
  ...secondFactorContracts,
  ...passkeyContracts,
  ...openidContracts,
  ...userContracts,
};
