export function ensureDashboard(context: { readonly root: string; readonly node: string }): Promise<void>;
export function buildPlaygroundPage(
  context: { readonly root: string; readonly node: string },
  folder: string,
): Promise<void>;
export function ensurePlayground(context: { readonly root: string; readonly node: string }): Promise<void>;
