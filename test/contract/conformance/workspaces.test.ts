import { describeConformance } from './suite.ts';
import { workspaces } from './workspaces.ts';

await describeConformance('workspaces', [workspaces]);
