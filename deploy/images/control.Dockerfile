# The control plane. The content depends only on the commit: digests pin the base images, the lockfile and a dated
# archive pin the packages, and all files have one time. Build it twice and compare (docs/operate/confidential-vm.md):
#
#   docker build -f deploy/images/control.Dockerfile --build-arg SOURCE_DATE_EPOCH=$(git log -1 --format=%ct) -t sotto-control .

ARG BUILD_BASE=docker.io/library/node:24-bookworm-slim@sha256:6f7b03f7c2c8e2e784dcf9295400527b9b1270fd37b7e9a7285cf83b6951452d
ARG RUN_BASE=gcr.io/distroless/cc-debian12:nonroot@sha256:9dac0a79194e45a7da0158a9c6da57b217585af0786db3845d1f0ec1a0dd182f

FROM ${BUILD_BASE} AS build
ARG SOURCE_DATE_EPOCH=0
ARG DEBIAN_SNAPSHOT=http://snapshot.debian.org/archive/debian/20261001T000000Z
WORKDIR /src
# Libraries that Node needs and the base image lacks, and prlimit, which turns core dumps off without an orchestrator.
RUN deploy=/out-system && mkdir -p $deploy/lib $deploy/bin \
  && rm -rf /etc/apt/sources.list /etc/apt/sources.list.d \
  && echo "deb [check-valid-until=no] $DEBIAN_SNAPSHOT bookworm main" > /etc/apt/sources.list \
  && apt-get update -qq && apt-get install -y -qq --no-install-recommends libatomic1 util-linux libsmartcols1 \
  && cp -L /usr/lib/*-linux-gnu/libatomic.so.1 /usr/lib/*-linux-gnu/libsmartcols.so.1 $deploy/lib/ \
  && cp /usr/bin/prlimit $deploy/bin/ \
  && find $deploy -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
COPY . .
RUN npm run image -- control /out

FROM ${RUN_BASE}
COPY --from=build /out-system/lib/ /usr/lib/
COPY --from=build /out-system/bin/ /usr/bin/
COPY --from=build /out/ /sotto/
ENV NODE_ENV=production
USER 65532:65532
EXPOSE 4000
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 CMD ["/sotto/bin/node", "/sotto/health.mjs", "control"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["/usr/bin/prlimit", "--core=0:0", "/sotto/bin/node", "--disable-sigusr1", "/sotto/apps/control/dist/main.js"]
CMD ["serve"]
