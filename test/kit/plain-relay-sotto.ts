// The command `sotto` for tests of relays on a service without TLS. The real command refuses that.
import { processTerminal } from '../../packages/client/src/command/process-terminal.ts';
import { sotto } from '../../packages/client/src/command/sotto.ts';

process.exitCode = await sotto({ ...processTerminal, relaysPlainHttp: true }, process.argv.slice(2));
