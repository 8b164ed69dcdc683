import { createAuthMiddleware } from 'better-auth/api';

/** A hook of better-auth on some of its paths. */
export const onPaths = (paths: readonly string[], handler: Parameters<typeof createAuthMiddleware>[0]) => ({
  matcher: ({ path = '' }: { readonly path?: string | undefined }): boolean => paths.includes(path),
  handler: createAuthMiddleware(handler),
});
