import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.http.DefaultFullHttpRequest;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.FullHttpRequest;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMessage;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.spdy.SpdyHttpCodec;
import io.netty.handler.codec.spdy.SpdyHttpHeaders;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import java.io.File;
import java.net.InetSocketAddress;
import javax.net.ssl.SSLException;

/** Answers the patterns of `loadstone serve --patterns`. */
final class Server extends SimpleChannelInboundHandler<FullHttpRequest> {
    private static final int MOST_BYTES = 16 * 1024 * 1024;

    private final String scheme;
    /** The next stream of this connection that is pushed. */
    private int next = 2;

    private Server(String scheme) {
        this.scheme = scheme;
    }

    static SslContext context(String certificate, String key) throws SSLException {
        return SslContextBuilder.forServer(new File(certificate), new File(key))
                .applicationProtocolConfig(Peer.alpn())
                .build();
    }

    static void serve(SslContext context) throws InterruptedException {
        ServerBootstrap bootstrap = new ServerBootstrap()
                .group(new NioEventLoopGroup(1))
                .channel(NioServerSocketChannel.class)
                .childHandler(new ChannelInitializer<SocketChannel>() {
                    @Override
                    protected void initChannel(SocketChannel channel) {
                        Server server = new Server(context == null ? "http" : "https");
                        Peer.below(channel, context, true).addLast(new SpdyHttpCodec(Peer.VERSION, MOST_BYTES), server);
                    }
                });
        Channel listening = bootstrap.bind("127.0.0.1", 0).sync().channel();
        int port = ((InetSocketAddress) listening.localAddress()).getPort();
        System.out.println("listening on 127.0.0.1:" + port);
        listening.closeFuture().sync();
    }

    @Override
    protected void channelRead0(ChannelHandlerContext context, FullHttpRequest request) {
        String[] parts = request.uri().split("/", -1);
        HttpResponseStatus found = HttpResponseStatus.OK;
        switch (parts[1]) {
            case "bytes":
                respond(context, request, found, pattern(Integer.parseInt(parts[2])));
                break;
            case "echo":
                respond(context, request, found, request.content().retain());
                break;
            case "push":
                for (int at = 0; at < Integer.parseInt(parts[2]); at++) {
                    push(context, request, at);
                }
                respond(context, request, found, pattern(500));
                break;
            default:
                respond(context, request, HttpResponseStatus.NOT_FOUND, Unpooled.EMPTY_BUFFER);
        }
    }

    private void respond(
            ChannelHandlerContext context, FullHttpRequest request, HttpResponseStatus status, ByteBuf body) {
        boolean isHead = request.method().equals(HttpMethod.HEAD);
        FullHttpResponse response =
                new DefaultFullHttpResponse(HttpVersion.HTTP_1_1, status, isHead ? Unpooled.EMPTY_BUFFER : body);
        response.headers().set(HttpHeaderNames.CONTENT_LENGTH, body.readableBytes());
        response.headers().set(SpdyHttpHeaders.Names.STREAM_ID, stream(request));
        context.writeAndFlush(response);
    }

    /** A push is a request that the server makes in the client's place, then the response to it. */
    private void push(ChannelHandlerContext context, HttpMessage parent, int at) {
        FullHttpRequest request =
                new DefaultFullHttpRequest(HttpVersion.HTTP_1_1, HttpMethod.GET, "/pushed/" + at);
        request.headers().set(SpdyHttpHeaders.Names.STREAM_ID, next);
        request.headers().set(SpdyHttpHeaders.Names.ASSOCIATED_TO_STREAM_ID, stream(parent));
        request.headers().set(SpdyHttpHeaders.Names.SCHEME, scheme);
        request.headers().set(HttpHeaderNames.HOST, parent.headers().get(HttpHeaderNames.HOST));
        context.write(request);
        FullHttpResponse response =
                new DefaultFullHttpResponse(HttpVersion.HTTP_1_1, HttpResponseStatus.OK, pattern(1000 + at));
        response.headers().set(SpdyHttpHeaders.Names.STREAM_ID, next);
        context.writeAndFlush(response);
        next += 2;
    }

    private static int stream(HttpMessage message) {
        return message.headers().getInt(SpdyHttpHeaders.Names.STREAM_ID);
    }

    private static ByteBuf pattern(int length) {
        byte[] body = new byte[length];
        for (int i = 0; i < length; i++) {
            body[i] = (byte) (131 * i + 7 * (i / 256) + 13);
        }
        return Unpooled.wrappedBuffer(body);
    }
}
