// A principal of the configured accounts: its credentials, and clients that send requests as it.
import { requestHandler } from './handler.js';
import { signer } from './signing.js';
import type { Dynatwin } from './twin.js';
import type { ClientConfig, Credentials, Principal, RequestHandler, RequestHandlerOptions, SessionOptions } from './types.js';

/** Sends requests as a principal, signed with its temporary credentials at the time of the twin's clock. */
export class TwinPrincipal implements Principal {
  readonly arn: string;
  readonly credentials: Credentials;
  readonly #twin: Dynatwin;
  readonly #options: SessionOptions;

  constructor(twin: Dynatwin, arn: string, credentials: Credentials, options: SessionOptions) {
    this.arn = arn;
    this.credentials = credentials;
    this.#twin = twin;
    this.#options = options;
  }

  requestHandler(options?: RequestHandlerOptions): RequestHandler {
    const { region = 'us-east-1' } = this.#options;
    const sign = signer(this.credentials, region, () => this.#twin.clock.now());
    return requestHandler(this.#twin, options, async (headers, body) => ({ ...(await sign(headers, body)), ...this.#origin() }));
  }

  clientConfig(): ClientConfig {
    const { region = 'us-east-1' } = this.#options;
    return { region, credentials: this.credentials, requestHandler: this.requestHandler(), extensions: [this.#twin.pauses()] };
  }

  // Where its requests come from.
  #origin(): Record<string, string> {
    const { sourceIp, vpcEndpoint, secureTransport } = this.#options;
    return {
      ...(sourceIp !== undefined && { 'x-dynatwin-source-ip': sourceIp }),
      ...(vpcEndpoint !== undefined && { 'x-dynatwin-vpc-endpoint': vpcEndpoint }),
      ...(secureTransport !== undefined && { 'x-dynatwin-secure-transport': String(secureTransport) }),
    };
  }
}
