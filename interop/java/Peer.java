import io.netty.channel.ChannelPipeline;
import io.netty.channel.socket.SocketChannel;
import io.netty.handler.codec.spdy.SpdyFrameCodec;
import io.netty.handler.codec.spdy.SpdySessionHandler;
import io.netty.handler.codec.spdy.SpdyVersion;
import io.netty.handler.ssl.ApplicationProtocolConfig;
import io.netty.handler.ssl.ApplicationProtocolConfig.Protocol;
import io.netty.handler.ssl.ApplicationProtocolConfig.SelectedListenerFailureBehavior;
import io.netty.handler.ssl.ApplicationProtocolConfig.SelectorFailureBehavior;
import io.netty.handler.ssl.SslContext;

/** A server and a client of Netty's SPDY/3.1, to talk to Loadstone's: see ../README.md. */
final class Peer {
    static final String PROTOCOL = "spdy/3.1";
    static final SpdyVersion VERSION = SpdyVersion.SPDY_3_1;

    private Peer() {}

    public static void main(String[] arguments) throws Exception {
        boolean isTls = arguments[2].equals("tls");
        if (arguments[0].equals("serve")) {
            Server.serve(isTls ? Server.context(arguments[3], arguments[4]) : null);
        } else {
            Client.fetch(isTls ? Client.context() : null, arguments[3], Integer.parseInt(arguments[4]));
        }
    }

    /** What TLS offers and chooses. */
    static ApplicationProtocolConfig alpn() {
        return new ApplicationProtocolConfig(
                Protocol.ALPN,
                SelectorFailureBehavior.NO_ADVERTISE,
                SelectedListenerFailureBehavior.ACCEPT,
                PROTOCOL);
    }

    /** What is below the messages of a server or client. A transport without TLS has no context. */
    static ChannelPipeline below(SocketChannel channel, SslContext context, boolean isServer) {
        ChannelPipeline pipeline = channel.pipeline();
        if (context != null) {
            pipeline.addLast(context.newHandler(channel.alloc()));
        }
        pipeline.addLast(new SpdyFrameCodec(VERSION), new SpdySessionHandler(VERSION, isServer));
        return pipeline;
    }
}
