export function ensureDashboard(context: { readonly root: string; readonly node: string }): Promise<void>;
