export function pathBeforeNpm(root: string, path: string): string;
