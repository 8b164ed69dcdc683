/** Where better-auth's routes live on the control origin. */
export const authBasePath = '/v1/auth';
