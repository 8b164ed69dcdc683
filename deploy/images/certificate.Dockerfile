# The ACME client that has an authority sign the broker's requests. It holds no key of the broker's. Docker Compose builds it:
#
#   docker build -f deploy/images/certificate.Dockerfile -t sotto-certificate .

ARG BUILD_BASE=docker.io/library/node:24-bookworm-slim@sha256:6f7b03f7c2c8e2e784dcf9295400527b9b1270fd37b7e9a7285cf83b6951452d

FROM ${BUILD_BASE}
ARG DEBIAN_SNAPSHOT=http://snapshot.debian.org/archive/debian/20261001T000000Z
RUN rm -rf /etc/apt/sources.list /etc/apt/sources.list.d \
  && echo "deb [check-valid-until=no] $DEBIAN_SNAPSHOT bookworm main" > /etc/apt/sources.list \
  && apt-get update -qq && apt-get install -y -qq --no-install-recommends ca-certificates lego \
  && rm -rf /var/lib/apt/lists \
  && install -d -o 65532 -g 65532 /var/lib/sotto-broker /var/lib/sotto-broker/tls
COPY deploy/sign-request.sh deploy/keep-certificate.sh /usr/local/bin/
USER 65532:65532
EXPOSE 8443
HEALTHCHECK --interval=5s --timeout=3s --start-period=10m --retries=3 CMD ["/usr/local/bin/keep-certificate.sh", "healthy"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["/usr/local/bin/keep-certificate.sh"]
